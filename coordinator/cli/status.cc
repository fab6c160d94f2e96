#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/ids.h"
#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/sharing.h"
#include "coordinator/cli/standstill.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

// A column that is left out where it has nothing but zeros.
struct Count {
  const char* title;
  uint32_t (v1::SweepSummary::*of)() const;
};
constexpr Count kCounts[] = {
    {"done", &v1::SweepSummary::done},      {"diverged", &v1::SweepSummary::diverged},
    {"failed", &v1::SweepSummary::failed},  {"cancelled", &v1::SweepSummary::cancelled},
    {"running", &v1::SweepSummary::leased}, {"waiting", &v1::SweepSummary::waiting}};

std::string ProgressText(const v1::SweepSummary& sweep) {
  return fmt::format("{:.0f} %", std::floor(100 * ShareDone(sweep)));
}

std::string Elapsed(const Context& context, const v1::SweepSummary& sweep) {
  const int64_t now = absl::ToUnixSeconds(context.clock.Now());
  return DurationText(
      static_cast<double>(std::max<int64_t>(0, now - sweep.submitted_unix_seconds())));
}

// As the coordinator expects it.
std::string TimeLeft(const v1::SweepSummary& sweep) {
  if (HasEnded(sweep)) return "-";
  if (sweep.paused()) return "paused";
  if (sweep.expected_seconds_left() <= 0) return "unknown";
  return "about " + DurationText(sweep.expected_seconds_left());
}

// The same of one that has not ended, in a sentence.
std::string WhenItEnds(const v1::SweepSummary& sweep) {
  if (sweep.paused()) return "paused";
  return sweep.expected_seconds_left() <= 0 ? "time left unknown" : TimeLeft(sweep) + " left";
}

// How many members end in an hour, whose sweep it is, and how it shares the fleet: a line each.
void PrintSharing(Context& context, const v1::SweepSummary& sweep) {
  if (!HasEnded(sweep) && sweep.members_per_hour() > 0) {
    const double rate = sweep.members_per_hour();
    context.out << fmt::format("{:.{}f} members an hour end at present\n", rate, rate < 10 ? 1 : 0);
  }
  if (sweep.hardware_size() > 0) {
    context.out << PrintableLine(fmt::format("on {}", fmt::join(sweep.hardware(), ", "))) << "\n";
  }
  std::string text = SharingText(sweep);
  if (!sweep.owner().empty()) {
    text = "of " + PrintableLine(sweep.owner()) + (text.empty() ? "" : "; " + text);
  }
  if (!text.empty()) context.out << text << "\n";
  if (sweep.paused() && !HasEnded(sweep)) {
    context.out << context.Hint(fmt::format("resume s{}", sweep.id())) << " lets it go on\n";
  }
}

void PrintTable(const Context& context, const std::vector<v1::SweepSummary>& sweeps) {
  std::vector<Count> counts;
  for (const Count& count : kCounts) {
    const bool some = std::ranges::any_of(
        sweeps, [&](const v1::SweepSummary& sweep) { return (sweep.*count.of)() > 0; });
    if (some || count.of == &v1::SweepSummary::done) counts.push_back(count);
  }
  std::vector<std::string> titles = {"sweep", "submitted (UTC)", "members"};
  for (const Count& count : counts) titles.emplace_back(count.title);
  for (const char* title : {"progress", "elapsed", "left", "name"}) titles.emplace_back(title);
  Table table(titles);
  for (const v1::SweepSummary& sweep : sweeps) {
    std::vector<std::string> row = {noisefloor::ToText(SweepId{sweep.id()}),
                                    TimeText(sweep.submitted_unix_seconds()),
                                    std::to_string(MemberCount(sweep))};
    for (const Count& count : counts) row.push_back(std::to_string((sweep.*count.of)()));
    row.push_back(ProgressText(sweep));
    row.push_back(HasEnded(sweep) ? "-" : Elapsed(context, sweep));
    row.push_back(TimeLeft(sweep));
    row.push_back(sweep.name());
    table.Add(std::move(row));
  }
  table.Print(context);
}

int EndCode(const v1::SweepSummary& sweep) {
  const bool short_of = sweep.failed() > 0 || sweep.cancelled() > 0;
  return HasEnded(sweep) && short_of ? kFailedMembers : kDone;
}

// What waits without anybody to train it, on standard error.
absl::Status SayWhoTrains(Context& context, Connection& connection, const v1::SweepSummary& sweep) {
  if (HasEnded(sweep)) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
  if (!nobody.empty()) context.err << nobody << "\n";
  return absl::OkStatus();
}

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
    app.add_flag("--archived", archived_, "in the list of all: archived ones, too");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (sweep != 0) return One(context, connection, sweep);
    return All(context, connection, archived_);
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
      return EndCode(summary);
    }
    context.out << "s" << summary.id() << " " << PrintableLine(summary.name()) << ", submitted "
                << TimeText(summary.submitted_unix_seconds()) << " UTC\n"
                << CountsText(summary) << " in " << Counted(summary.cells(), "cell") << "; "
                << summary.retries() << (summary.retries() == 1 ? " retry\n" : " retries\n");
    if (!HasEnded(summary)) {
      context.out << ProgressText(summary) << ", submitted " << Elapsed(context, summary)
                  << " ago, " << WhenItEnds(summary) << "\n";
    }
    if (summary.mean_member_seconds() > 0) {
      context.out << "a member trains " << DurationText(summary.mean_member_seconds())
                  << " on average\n";
    }
    PrintSharing(context, summary);
    if (!summary.sweep().notes().empty()) context.out << summary.sweep().notes() << "\n";
    NF_RETURN_IF_ERROR(SayWhoTrains(context, connection, summary));
    return EndCode(summary);
  }

  static absl::StatusOr<int> All(Context& context, Connection& connection, bool archived) {
    std::string storage_problem;
    const auto view = context.Json() ? v1::SWEEP_VIEW_FULL : v1::SWEEP_VIEW_BASIC;  // Notes, tags.
    NF_ASSIGN_OR_RETURN(const std::vector<v1::SweepSummary> sweeps,
                        ListSweeps(connection, &storage_problem, archived, view));
    WarnOfStorage(context, storage_problem);
    if (context.Json()) {
      Json list = Json::array();
      for (const v1::SweepSummary& sweep : sweeps) list.push_back(SummaryJson(sweep));
      PrintJson(context.out, {{"sweeps", list}});
      return kDone;
    }
    if (sweeps.empty()) {
      // `run` brings a coordinator of its own; one that serves is given the file.
      context.out << "no sweeps yet; "
                  << context.Hint(connection.remote() ? "submit SWEEP.yaml" : "run SWEEP.yaml")
                  << " makes one\n";
      return kDone;
    }
    PrintTable(context, sweeps);
    for (const v1::SweepSummary& sweep : sweeps) {
      if (HasEnded(sweep)) continue;
      NF_RETURN_IF_ERROR(SayWhoTrains(context, connection, sweep));
      break;
    }
    return kDone;
  }

  std::string sweep_;
  bool archived_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatus() { return std::make_unique<StatusCommand>(); }

}  // namespace noisefloor::cli
