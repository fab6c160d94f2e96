// Stacks on this machine: what there is, and the LibTorch of those that are installed.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/stacks/installed_stack.h"
#include "coordinator/cli/child_process.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

constexpr size_t kToldLines = 8;
constexpr size_t kMostOfAnswer = size_t{1} << 20;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const KnownStack& stack : KnownStacks()) names.push_back(stack.name);
  return names;
}

// A lock beside a stack's folder, for who installs or removes it.
class Alone {
 public:
  // Where none can be made nothing can be changed either, and the change says why.
  explicit Alone(const std::string& folder)
      : file_(open((folder + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)),
        held_(file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0) {}
  ~Alone() {
    if (file_ >= 0) close(file_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  bool held() const { return held_; }

 private:
  const int file_;
  const bool held_;
};

class Stacks final : public Command {
 public:
  std::string_view Name() const override { return "stacks"; }
  std::string_view Help() const override {
    return "List, install, describe and remove the software that trains: versions of LibTorch";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor stacks list
  noisefloor stacks install torch-2.7-cu126        # stopped: the same command begins anew
  noisefloor stacks describe torch-2.7-cu126
  noisefloor-worker --stacks=torch-2.7-cu126       # beside the one that is always there
  noisefloor serve --stack-root=/shared/stacks     # workers get them with --fetch-stack
  noisefloor stacks remove torch-2.7-cu126)";
  }
  void Describe(CLI::App& app) override {
    app.require_subcommand(1);
    list_ = app.add_subcommand("list", "The stacks, the GPUs they are for, and which are here");
    install_ = Named(app, "install", "Download a stack's LibTorch for this machine");
    describe_ = Named(app, "describe", "What a stack is, and what its trainer says of itself");
    remove_ = Named(app, "remove", "Remove a stack from this machine");
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (list_->parsed()) return List(context);
    const KnownStack& stack = *FindKnownStack(name_);  // One of those names.
    const std::string folder = FolderOf(context, stack);
    if (install_->parsed()) return Install(context, stack, folder);
    if (describe_->parsed()) return Describe(context, stack, folder);
    return Remove(context, stack, folder);
  }

 private:
  CLI::App* Named(CLI::App& app, const std::string& name, const std::string& help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("stack", name_, JoinChoices(Names()))
        ->required()
        ->type_name("STACK")
        ->check(OneOf(Names()));
    return command;
  }

  static std::string FolderOf(const Context& context, const KnownStack& stack) {
    return StacksFolder(context.default_cache) + "/" + stack.name;
  }

  static Json ToJson(const Context& context, const KnownStack& stack) {
    const std::string folder = FolderOf(context, stack);
    const std::string trainer = TrainerBeside(context.program_folder, stack.name);
    return {{"name", stack.name},
            {"libtorch", stack.libtorch},
            {"cuda", stack.cuda},
            {"gpus", stack.gpus},
            {"architectures", stack.architectures},
            {"lacks", stack.lacks},
            {"folder", folder},
            {"installed", HasLibTorch(folder, stack)},
            {"trainer", PathExists(trainer) ? trainer : ""},
            {"default", stack.name == DefaultStack()}};
  }

  static absl::StatusOr<int> List(Context& context) {
    Json stacks = Json::array();
    Table table({"stack", "LibTorch", "CUDA", "GPUs", "trainer", "here"});
    for (const KnownStack& stack : KnownStacks()) {
      stacks.push_back(ToJson(context, stack));
      const Json& one = stacks.back();
      table.Add({stack.name, stack.libtorch, stack.cuda, stack.gpus,
                 one["trainer"] == "" ? "not built" : "yes", one["installed"] ? "yes" : "no"});
    }
    if (context.Json()) {
      PrintJson(context.out, {{"folder", StacksFolder(context.default_cache)}, {"stacks", stacks}});
      return kDone;
    }
    table.Print(context);
    context.out << fmt::format("they are in {}\n", StacksFolder(context.default_cache));
    return kDone;
  }

  static absl::Status Busy(const KnownStack& stack) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        fmt::format("{} is being installed or removed by another process", stack.name));
  }

  static absl::StatusOr<int> Install(Context& context, const KnownStack& stack,
                                     const std::string& folder) {
    if (!HasLibTorch(folder, stack)) {
      NF_RETURN_IF_ERROR(CreateDirectories(StacksFolder(context.default_cache)));
      const Alone alone(folder);
      if (!alone.held()) return Busy(stack);
      NF_RETURN_IF_ERROR(Download(context, stack, folder));
    }
    NF_RETURN_IF_ERROR(PlaceTrainer(context.program_folder, folder, stack));
    context.err << fmt::format("{} is in {}\n", stack.name, folder);
    if (context.Json()) PrintJson(context.out, ToJson(context, stack));
    return kDone;
  }

  // Aside, then renamed: what is at its place is whole.
  static absl::Status Download(Context& context, const KnownStack& stack,
                               const std::string& folder) {
    const std::string part = folder + ".part";
    NF_RETURN_IF_ERROR(RemoveTree(part));
    NF_RETURN_IF_ERROR(CreateDirectories(part));
    const std::string lock = part + "/lock.txt";
    NF_RETURN_IF_ERROR(WriteFileAtomically(lock, stack.lock));
    context.err << fmt::format("downloading about {} MB into {}\n", stack.megabytes, folder);
    NF_RETURN_IF_ERROR(RunPip(context, lock, part, folder + ".log"));
    NF_RETURN_IF_ERROR(WriteFileAtomically(part + "/.libtorch", PackagesOf(stack)));
    NF_RETURN_IF_ERROR(RemoveTree(folder));
    std::error_code error;
    std::filesystem::rename(part, folder, error);
    if (!error) return RemoveFile(folder + ".log");
    return MakeError(absl::StatusCode::kPermissionDenied,
                     fmt::format("cannot rename {}: {}", part, error.message()));
  }

  // The files of the lock file and no others, whatever Python there is: only libraries of C++ are
  // used of them.
  static absl::Status RunPip(Context& context, const std::string& lock, const std::string& to,
                             const std::string& log) {
    NF_RETURN_IF_ERROR(WriteFileAtomically(log, ""));
    ChildSettings settings = {.program = "/usr/bin/env", .log_path = log};
    settings.arguments = {"python3",
                          "-m",
                          "pip",
                          "install",
                          "--no-deps",
                          "--no-input",
                          "--disable-pip-version-check",
                          "--root-user-action=ignore",
                          "--only-binary=:all:",
                          "--python-version=3.11",
                          "--implementation=cp",
                          "--abi=cp311",
                          "--require-hashes",
                          "--target=" + to,
                          "--requirement=" + lock};
    for (const char* platform : {"manylinux_2_28", "manylinux_2_25", "manylinux_2_17"}) {
      settings.arguments.push_back(fmt::format("--platform={}_x86_64", platform));
    }
    settings.arguments.emplace_back("--platform=manylinux2014_x86_64");
    const StopSignal stop;
    NF_ASSIGN_OR_RETURN(ChildProcess pip, ChildProcess::Start(settings));
    if (stop.WaitFor(absl::InfiniteDuration(), pip.ended_file()) && !pip.Ended()) {
      pip.Stop(absl::Seconds(5));
      return MakeError(absl::StatusCode::kCancelled, "stopped; nothing is installed");
    }
    if (pip.Wait() == 0) return absl::OkStatus();
    return MakeError(
        absl::StatusCode::kUnavailable,
        fmt::format("pip could not install it ({}); it needs python3 with pip, and the "
                    "Python package index or a mirror that pip is set to:\n{}",
                    log, pip.EndOfLog(kToldLines)));
  }

  static absl::StatusOr<int> Describe(Context& context, const KnownStack& stack,
                                      const std::string& folder) {
    Json description = ToJson(context, stack);
    if (description["installed"] && description["trainer"] != "") {
      NF_RETURN_IF_ERROR(PlaceTrainer(context.program_folder, folder, stack));
      NF_ASSIGN_OR_RETURN(description["says"], Ask(folder));
    }
    if (context.Json()) {
      PrintJson(context.out, description);
      return kDone;
    }
    Table table({stack.name, ""});
    table.Add({"LibTorch", stack.libtorch});
    table.Add({"CUDA", stack.cuda});
    table.Add({"GPUs", stack.gpus});
    table.Add({"kernels for", fmt::format("{}", fmt::join(stack.architectures, " "))});
    for (const std::string& missing : stack.lacks) table.Add({"lacks", missing});
    table.Add({"folder", description["installed"] ? folder : "not installed"});
    if (description.contains("says")) {
      const Json& says = description["says"];
      table.Add({"build", says["build"]});
      table.Add({"fingerprint", says["fingerprint"]});
      for (const auto& [name, version] : says["environment"]["versions"].items()) {
        table.Add({name, version});
      }
    }
    table.Print(context);
    return kDone;
  }

  static absl::StatusOr<Json> Ask(const std::string& folder) {
    const std::string answer = folder + "/.describe";
    NF_RETURN_IF_ERROR(WriteFileAtomically(answer, ""));
    NF_ASSIGN_OR_RETURN(ChildProcess trainer, ChildProcess::Start({.program = PlacedTrainer(folder),
                                                                   .arguments = {"--describe"},
                                                                   .log_path = answer}));
    const int code = trainer.Wait();
    NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(answer, kMostOfAnswer));
    NF_RETURN_IF_ERROR(RemoveFile(answer));
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (code == 0 && json.is_object()) return json;
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} --describe ended with code {}: {}", PlacedTrainer(folder),
                                 code, text.substr(0, 500)));
  }

  static absl::StatusOr<int> Remove(Context& context, const KnownStack& stack,
                                    const std::string& folder) {
    if (!PathExists(folder)) {
      return MakeError(absl::StatusCode::kNotFound,
                       fmt::format("{} is not installed: there is no {}", stack.name, folder));
    }
    const Alone alone(folder);
    if (!alone.held()) return Busy(stack);
    // Renamed first: half of one would count as installed.
    const std::string aside = folder + ".removed";
    NF_RETURN_IF_ERROR(RemoveTree(aside));
    std::error_code error;
    std::filesystem::rename(folder, aside, error);
    if (error) {
      return MakeError(absl::StatusCode::kPermissionDenied,
                       fmt::format("cannot rename {}: {}", folder, error.message()));
    }
    NF_RETURN_IF_ERROR(RemoveTree(aside));
    context.err << fmt::format("removed {}\n", folder);
    return kDone;
  }

  CLI::App* list_ = nullptr;
  CLI::App* install_ = nullptr;
  CLI::App* describe_ = nullptr;
  CLI::App* remove_ = nullptr;
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeStacks() { return std::make_unique<Stacks>(); }

}  // namespace noisefloor::cli
