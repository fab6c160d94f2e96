#include "worker/daemon/stacks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/fork_json.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/daemon/spawn.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {

namespace {

constexpr int kSilenceMilliseconds = 60000;
constexpr size_t kMaxDescriptionBytes = 1 << 20;

// All that comes until the end of the pipe.
absl::StatusOr<std::string> ReadAnswer(int file, const std::string& program) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() <= kMaxDescriptionBytes) {
    pollfd wait = {file, POLLIN, 0};
    const int ready = poll(&wait, 1, kSilenceMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return MakeError(absl::StatusCode::kDeadlineExceeded,
                       fmt::format("{} --describe: no answer within 60 s", program));
    }
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return InvalidInput(fmt::format("{} --describe: an answer of more than 1 MiB", program));
}

absl::StatusOr<std::string> RunDescribe(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(program, "make a pipe for", errno);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  SpawnRequest request;
  request.arguments = {program, "--describe"};
  request.environment = InheritedEnvironment();
  request.input = request.error = null;
  request.output = ends[1];
  const absl::StatusOr<Child> child = Spawn(request);
  close(ends[1]);
  close(null);
  absl::StatusOr<std::string> answer = std::string();
  if (!child.ok()) {
    answer = child.status();
  } else {
    answer = ReadAnswer(ends[0], program);
    if (!answer.ok()) kill(-child->pid, SIGKILL);
    const Reaped end = Reap(*child);
    close(child->pidfd);
    if (answer.ok() && (end.signalled || end.code != 0)) {
      answer = InvalidInput(fmt::format("{} --describe: {} {}", program,
                                        end.signalled ? "ended by signal" : "exit code", end.code));
    }
  }
  close(ends[0]);
  return answer;
}

Stack NoopStack() {
  Stack stack;
  stack.build = "noop";
  stack.fingerprint = Sha256Hex(fmt::format("noop\n{}", VariablesTable()));
  return stack;
}

}  // namespace

absl::StatusOr<Description> ParseDescription(std::string_view line) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  JsonReader reader(json, "");
  Description description;
  if (reader.Int("protocol", 1, 1000000) != kTrainerProtocolVersion) {
    reader.Fail("protocol", fmt::format("version {}", kTrainerProtocolVersion));
  }
  description.name = reader.Text("stack", 100);
  description.stack.build = reader.Text("build", 200);
  if (!reader.Any("environment").is_object()) reader.Fail("environment", "an object");
  // Other variables mean other bits, so they belong to the stack.
  description.stack.fingerprint =
      Sha256Hex(fmt::format("{}\n{}", reader.Text("fingerprint", 200), VariablesTable()));
  if (reader.Has("serves_forks")) {
    description.stack.serves_forks = reader.Int("serves_forks", 1, 1000000) == kForkProtocolVersion;
  }
  NF_RETURN_IF_ERROR(reader.Finish());
  return description;
}

absl::StatusOr<Stacks> FindStacks(const std::multimap<std::string, std::string>& wanted) {
  Stacks stacks;
  for (const auto& [name, program] : wanted) {
    if (name == kNoopStack && program.empty()) {
      stacks[name] = NoopStack();
      continue;
    }
    NF_ASSIGN_OR_RETURN(const std::string answer, RunDescribe(program));
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
  }
  return stacks;
}

}  // namespace noisefloor
