#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include "common/base/ids.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/completion_script.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"

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
    ids_ = app.add_option("--ids", begun_, "")->group("");  // Asked for by the script.
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (*ids_) return OfferIds(context);
    context.out << BashCompletion(*context.root);
    return kDone;
  }

 private:
  // Ids that begin so, one in a line: sweeps, and of a sweep that is named its members.
  absl::StatusOr<int> OfferIds(Context& context) const {
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    const size_t end = begun_.find('c');
    if (end == std::string::npos) {
      NF_ASSIGN_OR_RETURN(const std::vector<v1::SweepSummary> sweeps, ListSweeps(connection));
      for (const v1::SweepSummary& sweep : sweeps) {
        context.out << noisefloor::ToText(SweepId{sweep.id()}) << "\n";
      }
      return kDone;
    }
    const std::optional<SweepId> sweep = ParseSweepId(begun_.substr(0, end));
    if (!sweep) return kDone;
    Listing listing = {.sweep = sweep->value, .limit = kMostIds};
    const size_t replicate = begun_.find('r', end);
    uint32_t cell = 0;
    if (replicate != std::string::npos &&
        absl::SimpleAtoi(begun_.substr(end + 1, replicate - end - 1), &cell)) {
      listing.selection.add_cells(cell);
    }
    NF_RETURN_IF_ERROR(VisitSelected(connection, listing, [&](const v1::Member& member) {
      if (member.id().starts_with(begun_)) context.out << member.id() << "\n";
    }));
    return kDone;
  }

  static constexpr uint32_t kMostIds =
      2000;  // Looked at: nobody reads more, and a TAB is not waited for.

  CLI::Option* ids_ = nullptr;  // The app's.
  std::string begun_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace noisefloor::cli
