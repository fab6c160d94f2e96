#include "common/base/ids.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class StatusCommand final : public Command {
 public:
  std::string_view Name() const override { return "status"; }
  std::string_view Help() const override {
    return "Show sweeps with their counts, or one in detail";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor status
  noisefloor status s3 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3; without it: all")->type_name("ID");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (sweep != 0) return One(context, connection, sweep);
    return All(context, connection);
  }

 private:
  static absl::StatusOr<int> One(Context& context, Connection& connection, uint64_t sweep) {
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer,
                        connection.Call(&Stub::GetSweep, request));
    WarnOfStorage(context, answer.storage_problem());
    const v1::SweepSummary& summary = answer.sweep();
    if (context.Json()) {
      PrintJson(context.out, {{"sweep", SummaryJson(summary)}});
    } else {
      context.out << "s" << summary.id() << " " << summary.name() << ", submitted "
                  << TimeText(summary.submitted_unix_seconds()) << " UTC\n"
                  << CountsText(summary) << " in " << Counted(summary.cells(), "cell") << "; "
                  << summary.retries() << (summary.retries() == 1 ? " retry\n" : " retries\n");
      if (summary.mean_member_seconds() > 0) {
        context.out << "a member trains " << DurationText(summary.mean_member_seconds())
                    << " on average\n";
      }
      if (!summary.sweep().notes().empty()) context.out << summary.sweep().notes() << "\n";
    }
    return HasEnded(summary) && summary.failed() > 0 ? kFailedMembers : kDone;
  }

  static absl::StatusOr<int> All(Context& context, Connection& connection) {
    std::string storage_problem;
    NF_ASSIGN_OR_RETURN(const std::vector<v1::SweepSummary> sweeps,
                        ListSweeps(connection, &storage_problem));
    WarnOfStorage(context, storage_problem);
    if (context.Json()) {
      Json list = Json::array();
      for (const v1::SweepSummary& sweep : sweeps) list.push_back(SummaryJson(sweep));
      PrintJson(context.out, {{"sweeps", list}});
      return kDone;
    }
    Table table({"sweep", "submitted (UTC)", "members", "done", "diverged", "failed", "cancelled",
                 "running", "waiting", "name"});
    for (const v1::SweepSummary& s : sweeps) {
      table.Add({noisefloor::ToText(SweepId{s.id()}), TimeText(s.submitted_unix_seconds()),
                 std::to_string(MemberCount(s)), std::to_string(s.done()),
                 std::to_string(s.diverged()), std::to_string(s.failed()),
                 std::to_string(s.cancelled()), std::to_string(s.leased()),
                 std::to_string(s.waiting()), s.name()});
    }
    if (table.empty()) {
      context.out << "no sweeps yet; " << context.Hint("run SWEEP.yaml") << " makes one\n";
    } else {
      table.Print(context.out, context.Colour());
    }
    return kDone;
  }

  std::string sweep_;
};

}  // namespace

std::unique_ptr<Command> MakeStatus() { return std::make_unique<StatusCommand>(); }

}  // namespace noisefloor::cli
