#include "common/base/ids.h"
#include "common/base/sweep_limits.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Show final : public Command {
 public:
  std::string_view Name() const override { return "show"; }
  std::string_view Help() const override {
    return "Print the sweep file of a sweep, as it was submitted";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor show s1 > sweep.yaml
  noisefloor show s1 --resolved            # every default filled in)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    app.add_flag("--resolved", resolved_,
                 "a sweep file of the same trainings with every default filled in");
  }

  absl::StatusOr<int> Run(Context& context) override {
    v1::GetSweepRequest request;
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, RequiredSweepNumber(sweep_));
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer,
                        connection.Call(&Stub::GetSweep, request));
    if (context.Json()) {
      PrintJson(context.out, {{"sweep", noisefloor::ToText(SweepId{answer.sweep().id()})},
                              {"file", answer.file()},
                              {"resolved_file", answer.resolved_file()}});
      return kDone;
    }
    const bool submitted = !answer.file().empty();
    if (!submitted && !resolved_) {
      context.err << sweep_ << " was submitted without a file; this one means the same\n";
    }
    if (submitted && !resolved_ && answer.resolved_file().starts_with(sweep::kExtendedNote)) {
      context.err << sweep_ << " was extended since; "
                  << context.Hint("show " + sweep_ + " --resolved") << " says what it is now\n";
    }
    PrintData(context, submitted && !resolved_ ? answer.file() : answer.resolved_file());
    return kDone;
  }

 private:
  std::string sweep_;
  bool resolved_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<Show>(); }

}  // namespace noisefloor::cli
