#include "fmt/format.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/follow.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/standstill.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

namespace {

class Watch final : public Command {
 public:
  std::string_view Name() const override { return "watch"; }
  std::string_view Help() const override { return "Follow a sweep until it has ended"; }
  std::string_view Examples() const override {
    return R"(  noisefloor watch s3 --coordinator=127.0.0.1:7077
  noisefloor watch s3 --output=json | jq .sweep.progress)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3; without it: the newest")
        ->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer,
                        connection.Call(&Stub::GetSweep, request));
    if (!connection.remote() && !HasEnded(answer.sweep())) {
      return MakeError(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("s{} waits and nothing runs on {}; {} goes on with it", answer.sweep().id(),
                      context.options.home, context.Hint("run SWEEP.yaml")));
    }
    const StopSignal stop;
    NF_ASSIGN_OR_RETURN(const v1::SweepSummary end,
                        FollowSweep(context, connection, answer.sweep().id(), {.stop = &stop}));
    if (stop.Requested()) return kStopped;
    return SayTheEnd(context, connection, end);
  }

 private:
  static absl::StatusOr<int> SayTheEnd(Context& context, Connection& connection,
                                       const v1::SweepSummary& end) {
    if (!context.Json()) {
      context.out << fmt::format("s{} has ended: {}\n", end.id(), CountsText(end));
    }
    if (end.failed() == 0 && end.cancelled() == 0) return kDone;
    if (end.failed() > 0) {
      NF_ASSIGN_OR_RETURN(const std::vector<std::string> causes,
                          WhyMembersFailed(connection, end.id()));
      for (const std::string& cause : causes) context.err << cause << "\n";
    }
    context.err << fmt::format("{} lets them wait again\n",
                               context.Hint(fmt::format("retry s{}", end.id())));
    return kFailedMembers;
  }

  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakeWatch() { return std::make_unique<Watch>(); }

}  // namespace noisefloor::cli
