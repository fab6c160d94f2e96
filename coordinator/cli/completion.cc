#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/completion_script.h"

namespace noisefloor::cli {

namespace {

class Completion final : public Command {
 public:
  std::string_view Name() const override { return "completion"; }
  std::string_view Help() const override { return "Print a shell's completion script"; }
  std::string_view Examples() const override {
    return R"(  source <(noisefloor completion bash)
  noisefloor completion bash > ~/.local/share/bash-completion/completions/noisefloor)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("shell", shell_, "bash")->required()->type_name("SHELL")->check(OneOf({"bash"}));
  }
  absl::StatusOr<int> Run(Context& context) override {
    context.out << BashCompletion(*context.root);
    return kDone;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace noisefloor::cli
