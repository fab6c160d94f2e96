#include "worker/daemon/stacks.h"

#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/fork_json.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/daemon/ask.h"
#include "worker/daemon/attempt_result.h"
#include "worker/daemon/probe.h"
#include "worker/daemon/spawn.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {

namespace {

Stack NoopStack() {
  Stack stack;
  stack.build = "noop";
  stack.schema = OwnSchema();
  stack.fingerprint = Sha256Hex(fmt::format("noop\n{}", VariablesTable()));
  return stack;
}

absl::Status AddStack(const std::string& name, const std::string& program, std::string_view answer,
                      Stacks& stacks) {
  auto description = ParseDescription(answer);
  if (!description.ok()) return Annotate(description.status(), program + " --describe");
  if (!name.empty() && description->name != name) {
    return InvalidInput(fmt::format("--trainer={}={}: it says that its stack is '{}'", name,
                                    program, description->name));
  }
  description->stack.program = program;
  if (!stacks.emplace(description->name, description->stack).second) {
    return InvalidInput(fmt::format("two trainers of stack '{}'", description->name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Description> ParseDescription(std::string_view line) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  JsonReader reader(json, "");
  Description description;
  reader.Version("protocol", kTrainerProtocolVersion);
  description.name = reader.Text("stack", 100);
  description.stack.build = reader.Text("build", 200);
  const Json& environment = reader.Any("environment");
  if (!environment.is_object()) reader.Fail("environment", "an object");
  if (environment.is_object() && environment.contains("versions")) {
    description.stack.versions = VersionsFrom(environment["versions"]);
  }
  // Other variables mean other bits, so they belong to the stack.
  description.stack.fingerprint =
      Sha256Hex(fmt::format("{}\n{}", reader.Text("fingerprint", 200), VariablesTable()));
  if (reader.Has("serves_forks")) {
    description.stack.serves_forks = reader.Int("serves_forks", 1, 1000000) == kForkProtocolVersion;
  }
  const Json settings = reader.Has("settings") ? reader.Any("settings") : Json();
  if (!reader.Has("probes")) {
    reader.Fail("probes",
                "1: a trainer that can be asked with --probe whether it works on a device");
  } else {
    reader.Version("probes", kProbeVersion);
  }
  NF_RETURN_IF_ERROR(reader.Finish());
  if (!settings.is_null()) {
    NF_ASSIGN_OR_RETURN(SettingsSchema schema, SettingsSchema::FromJson(settings.dump()));
    description.stack.schema = std::make_shared<const SettingsSchema>(std::move(schema));
  }
  return description;
}

Versions VersionsFrom(const Json& object) {
  constexpr size_t kMost = 32;
  constexpr size_t kMostBytes = 200;
  Versions versions;
  if (!object.is_object()) return versions;
  for (const auto& [name, value] : object.items()) {
    if (versions.size() == kMost) break;
    if (name.empty() || !value.is_primitive() || value.is_null()) continue;
    versions[ToUtf8(name, kMostBytes)] =
        ToUtf8(value.is_string() ? value.get<std::string>() : value.dump(), kMostBytes);
  }
  return versions;
}

absl::StatusOr<Stacks> FindStacks(const std::multimap<std::string, std::string>& wanted) {
  Stacks stacks;
  std::vector<Question> questions;
  std::vector<std::pair<std::string, std::string>> asked;
  for (const auto& [name, program] : wanted) {
    if (name == kNoopStack && program.empty()) {
      stacks[name] = NoopStack();
      continue;
    }
    questions.push_back({{program, "--describe"}, InheritedEnvironment()});
    asked.emplace_back(name, program);
  }
  const std::vector<absl::StatusOr<std::string>> answers = Ask(questions, {});
  for (size_t i = 0; i < answers.size(); ++i) {
    NF_RETURN_IF_ERROR(answers[i].status());
    NF_RETURN_IF_ERROR(AddStack(asked[i].first, asked[i].second, *answers[i], stacks));
  }
  return stacks;
}

}  // namespace noisefloor
