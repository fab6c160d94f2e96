#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/python_package.h"

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

// Runs a program whose standard error and input are ours, and hands on what it prints.
absl::StatusOr<int> Relay(std::vector<std::string>& arguments, std::ostream& out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return CannotStart(arguments[0], errno);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) {
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = read(ends[0], buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR)) {
      if (got > 0) out.write(buffer.data(), got);
    }
  }
  close(ends[0]);
  if (error != 0) return CannotStart(arguments[0], error);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
