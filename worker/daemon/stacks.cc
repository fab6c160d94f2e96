#include "worker/daemon/stacks.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/sha256.h"
#include "common/log/log.h"
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

using Command = std::vector<std::string>;

constexpr std::string_view kLibTorch = "2.11";  // Which packages are made with.

// With the path of its program, where that is in $PATH.
Command Found(Command command) {
  std::string& program = command.at(0);
  const char* path = std::getenv("PATH");
  if (program.find('/') != std::string::npos || path == nullptr) return command;
  const std::vector<std::string> folders = absl::StrSplit(path, ':');
  for (const std::string& folder : folders) {
    const std::string found = fmt::format("{}/{}", folder.empty() ? "." : folder, program);
    if (access(found.c_str(), X_OK) != 0) continue;
    program = found;
    break;
  }
  return command;
}

absl::Status AddStack(const std::string& name, const Command& command, std::string_view answer,
                      Stacks& stacks) {
  const std::string said = fmt::format("{}", fmt::join(command, " "));
  auto description = ParseDescription(answer);
  if (!description.ok()) return Annotate(description.status(), said + " --describe");
  if (!name.empty() && description->name != name) {
    return InvalidInput(fmt::format("stack '{}', {}: it says that its stack is '{}'", name, said,
                                    description->name));
  }
  description->stack.command = command;
  if (!stacks.emplace(description->name, description->stack).second) {
    return InvalidInput(fmt::format("two trainers of stack '{}'", description->name));
  }
  return absl::OkStatus();
}

// What to do, where the loader did not find LibTorch for a trainer that a package has installed.
absl::Status WithLibTorchsPlace(const absl::Status& status, const Command& command) {
  const std::filesystem::path folder = std::filesystem::path(command.at(0)).parent_path();
  const bool installed = folder.filename() == "libexec";
  if (!installed || status.message().find("libtorch") == std::string_view::npos) return status;
  const std::filesystem::path tree = folder.parent_path();
  const std::string what =
      tree.filename() == "programs"  // Of the wheel.
          ? fmt::format("pip install 'torch=={}.*' where noisefloor is installed", kLibTorch)
          : fmt::format(
                "{} is to be the folder `torch` of a Python that has torch {}, or a link to it",
                (tree / "torch").string(), kLibTorch);
  return MakeError(status.code(), fmt::format("{}; {}", Message(status), what));
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
  if (reader.Has("infers")) {
    description.stack.infers = reader.Int("infers", 1, 1000000) == kInferVersion;
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

absl::StatusOr<Stacks> FindStacks(const std::multimap<std::string, Command>& wanted) {
  Stacks stacks;
  std::vector<Question> questions;
  std::vector<std::pair<std::string, Command>> asked;
  for (const auto& [name, words] : wanted) {
    if (name == kNoopStack && words.empty()) {
      stacks[name] = NoopStack();
      continue;
    }
    asked.emplace_back(name, Found(words));
    Question& question = questions.emplace_back();
    question.arguments = asked.back().second;
    question.arguments.emplace_back("--describe");
    question.environment = InheritedEnvironment();
  }
  const std::vector<absl::StatusOr<std::string>> answers = Ask(questions, {});
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto& [name, command] = asked[i];
    const absl::Status added = answers[i].ok() ? AddStack(name, command, *answers[i], stacks)
                                               : WithLibTorchsPlace(answers[i].status(), command);
    if (added.ok()) continue;
    if (!name.empty() || wanted.size() == 1) return added;
    LogWarning("trainer_left_out", {{"trainer", command.at(0)}, {"error", added}});
  }
  return stacks;
}

}  // namespace noisefloor
