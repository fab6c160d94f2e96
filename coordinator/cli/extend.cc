#include <cstdint>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/printable.h"
#include "common/base/sweep_limits.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Extend final : public Command {
 public:
  std::string_view Name() const override { return "extend"; }
  std::string_view Help() const override {
    return "Add replicates, blocks or hardware classes to a sweep; only what is new is trained";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor extend s3 --replicates=20
  noisefloor extend s3 --plan=algo --blocks=3 --dry-run
  noisefloor extend s3 --hardware=nvidia-a100-80gb,nvidia-h200)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    app.add_option("--replicates", replicates_,
                   "members of each cell from now on, not fewer than before")
        ->type_name("N")
        ->check(CLI::Range(1, static_cast<int>(sweep::kMaxMembers)));
    app.add_option("--blocks", blocks_, "blocks from now on, not fewer than before")
        ->type_name("N")
        ->check(CLI::Range(1, static_cast<int>(sweep::kMaxBlocks)));
    app.add_option(
           "--hardware", hardware_,
           "classes beside those that it has, with commas between, or all that are connected")
        ->type_name("CLASSES")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--plan", plans_,
                   "noise plans of which --replicates and --blocks tell (default: all)")
        ->type_name("PLANS")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_flag("--dry-run", dry_run_, "say what would be added, and add nothing");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, RequiredSweepNumber(sweep_));
    if (!plans_.empty() && replicates_ == 0 && blocks_ == 0) {
      return InvalidInput("--plan: says of which plans --replicates and --blocks tell");
    }
    if (replicates_ == 0 && blocks_ == 0 && hardware_.empty()) {
      return InvalidInput("expected --replicates, --blocks or --hardware: what to add");
    }
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    v1::ExtendSweepRequest request;
    request.set_sweep_id(sweep);
    request.set_replicates(replicates_);
    request.set_blocks(blocks_);
    for (const std::string& name : hardware_) request.add_hardware(name);
    for (const std::string& name : plans_) request.add_plans(name);
    request.set_dry_run(dry_run_);
    NF_ASSIGN_OR_RETURN(const v1::ExtendSweepResponse answer,
                        connection.Call(&Stub::ExtendSweep, request));
    Print(context, answer);
    if (!dry_run_ && answer.members() > 0 && !connection.remote()) {
      context.err << "nothing runs it here: " << context.Hint("serve") << " does\n";
    }
    return kDone;
  }

 private:
  void Print(Context& context, const v1::ExtendSweepResponse& answer) const {
    if (context.Json()) {
      return PrintJson(context.out, {{"sweep", SummaryJson(answer.sweep())},
                                     {"members", answer.members()},
                                     {"cells", answer.cells()},
                                     {"dry_run", dry_run_}});
    }
    const std::string name =
        fmt::format("s{} {}", answer.sweep().id(), PrintableLine(answer.sweep().name()));
    if (answer.members() == 0) {
      context.out << name << " has all of that already: " << CountsText(answer.sweep()) << "\n";
      return;
    }
    context.out << name
                << fmt::format(": {} {}, {}", Counted(answer.members(), "member"),
                               dry_run_ ? "would be added" : "added",
                               Counted(answer.cells(), "new cell"));
    // Of a busy coordinator the number alone.
    const bool told = !answer.sweep().name().empty();
    if (told) context.out << (dry_run_ ? "; it has " : "; now ") << CountsText(answer.sweep());
    context.out << "\n";
  }

  std::string sweep_;
  uint32_t replicates_ = 0;
  uint32_t blocks_ = 0;
  std::vector<std::string> hardware_;
  std::vector<std::string> plans_;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExtend() { return std::make_unique<Extend>(); }

}  // namespace noisefloor::cli
