#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "coordinator/cli/child_process.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/python_package.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

namespace {

// $NOISEFLOOR_PYTHON; the one beside this program, as in a virtual environment; the one in the
// path.
std::string PythonFor(const std::string& program_folder) {
  const char* named = std::getenv("NOISEFLOOR_PYTHON");
  if (named != nullptr && *named != '\0') return named;
  const std::string beside = program_folder + "/python3";
  return PathExists(beside) ? beside : "python3";
}

absl::Status CannotStart(const std::string& program, int error) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{}: {}; expected Python 3.10 or newer, or one in "
                               "$NOISEFLOOR_PYTHON",
                               program, std::strerror(error)));
}

// Starts a program that is told to end when we do, however that is. Its standard error and input
// are ours.
absl::StatusOr<pid_t> Start(std::vector<std::string>& arguments, int output) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t process = -1;
  const auto become = [&] {
    dup2(output, STDOUT_FILENO);
    execvp(words[0], words.data());
  };
  const int error = ForkAndExec(become, process);
  if (error != 0) return CannotStart(arguments[0], error);
  return process;
}

// Hands on what it prints until it has closed its output. What would end us ends it first.
void HandOn(int output, pid_t process, std::ostream& out) {
  StopSignal stop;
  std::array<char, 4096> buffer;
  while (true) {
    if (stop.WaitFor(absl::InfiniteDuration(), output)) {
      stop.Clear();
      kill(process, SIGTERM);
      continue;
    }
    const ssize_t got = read(output, buffer.data(), buffer.size());
    if (got > 0) out.write(buffer.data(), got);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

// The program's exit code, or 128 + the signal that ended it.
absl::StatusOr<int> Relay(std::vector<std::string>& arguments, std::ostream& out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return CannotStart(arguments[0], errno);
  const absl::StatusOr<pid_t> process = Start(arguments, ends[1]);
  close(ends[1]);
  if (process.ok()) HandOn(ends[0], *process, out);
  close(ends[0]);
  NF_RETURN_IF_ERROR(process.status());
  return WaitFor(*process);
}

// The check is written in Python, as what it checks is: noisefloor.conform.
class Conform final : public Command {
 public:
  std::string_view Name() const override { return "conform"; }
  std::string_view Help() const override {
    return "Try a training script: does it repeat, and which lines let in noise";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor conform -- python train.py --epochs 1
  noisefloor conform --set epochs=1 -- python member.py   # a setting of a member
  noisefloor conform --output=json -- /opt/env/bin/python train.py)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("command", words_, "after --: a Python, a script, its arguments")
        ->required()
        ->type_name("COMMAND");
    app.add_option("--set", settings_, "a setting of a member, to make it short; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    app.add_option("--data-root", data_root_, "what run.data_root is to be")->type_name("DIRS");
    jobs_option_ = app.add_option("--jobs", jobs_, "runs at once (default: the cores, at most 4)")
                       ->type_name("N")
                       ->check(CLI::Range(1, 64));
    timeout_option_ = app.add_option("--timeout", timeout_, "seconds of one run (default: 600)")
                          ->type_name("SECONDS")
                          ->check(CLI::Range(1.0, 1e6));
  }

  // Its output and exit code are ours.
  absl::StatusOr<int> Run(Context& context) override {
    std::vector<std::string> arguments = {PythonFor(context.program_folder), "-m",
                                          "noisefloor.conform"};
    if (context.Json()) arguments.emplace_back("--output=json");
    for (const std::string& text : settings_) arguments.push_back("--set=" + text);
    if (!data_root_.empty()) arguments.push_back("--data-root=" + data_root_);
    if (*jobs_option_) arguments.push_back(fmt::format("--jobs={}", jobs_));
    if (*timeout_option_) arguments.push_back(fmt::format("--timeout={}", timeout_));
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), words_.begin(), words_.end());
    const std::string path = PythonPathWithPackage(context.program_folder);
    if (!path.empty()) setenv("PYTHONPATH", path.c_str(), 1);
    return Relay(arguments, context.out);
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::string> settings_;
  std::string data_root_;
  int jobs_ = 0;
  double timeout_ = 0;
  CLI::Option* jobs_option_ = nullptr;
  CLI::Option* timeout_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeConform() { return std::make_unique<Conform>(); }

}  // namespace noisefloor::cli
