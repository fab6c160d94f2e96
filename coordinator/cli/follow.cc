#include "coordinator/cli/follow.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/rpc/backoff.h"
#include "coordinator/cli/canceller.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"
#include "coordinator/cli/standstill.h"

namespace noisefloor::cli {

namespace {

// A watch is opened anew so often: in between we look why nothing moves.
constexpr absl::Duration kFirstLook = absl::Seconds(2);
constexpr absl::Duration kLongestLook = absl::Seconds(30);

int ProgressWidth(int file) {
  const uint32_t columns = TerminalColumns(file);
  return columns > 20 ? static_cast<int>(columns) : 100;
}

class Follower {
 public:
  Follower(Context& context, Connection& connection, uint64_t sweep, const FollowSettings& settings)
      : context_(context),
        connection_(connection),
        settings_(settings),
        progress_(settings.quiet ? context.err : context.out,
                  {.terminal = settings.quiet ? context.ErrRedraws() : context.OutRedraws(),
                   .all_lines = !settings.quiet,
                   .width = ProgressWidth(settings.quiet ? 2 : 1)}),
        standstill_(context, connection, sweep) {
    request_.set_sweep_id(sweep);
  }

  absl::StatusOr<v1::SweepSummary> Follow() {
    Backoff backoff({}, static_cast<uint64_t>(getpid()));  // Others watch the same sweep.
    for (int tries = 0; tries < kMostTriesUnanswered; ++tries) {
      heard_ = false;
      const absl::Status status = WatchOnce();
      const bool stopped = Stopped();
      if (stopped || (status.ok() && HasEnded(last_))) return Finished();
      // A coordinator that is busy gets more time for its first word.
      look_ = heard_ ? kFirstLook : std::min(2 * look_, kLongestLook);
      if (heard_) {
        tries = 0;
        backoff.Reset();
      }
      if (!heard_ && tries == 1 && connection_.remote()) {
        progress_.Note(context_.err,
                       fmt::format("the coordinator {} does not answer; waiting for it",
                                   connection_.address()));
      }
      if (absl::IsDeadlineExceeded(status)) {
        SayWhatStands();
        continue;
      }
      const bool lost = status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status);
      const bool again = absl::IsResourceExhausted(status) || (lost && connection_.remote());
      if (!again) return status.ok() ? Finished() : status;
      if (settings_.stop->WaitFor(connection_.PauseOf(lost, backoff.Next()),
                                  settings_.also_stop_on))
        return Finished();
      if (lost) connection_.WaitUntilBack([this] { return Stopped(); });
    }
    return MakeError(absl::StatusCode::kUnavailable, "the coordinator does not come back");
  }

 private:
  bool Stopped() const {
    if (settings_.stop->Requested() || !context_.out.good()) return true;  // Nobody listens.
    pollfd file = {settings_.also_stop_on, POLLIN, 0};
    return poll(&file, 1, 0) == 1;
  }

  absl::StatusOr<v1::SweepSummary> Finished() {
    progress_.Finish();
    return last_;
  }

  absl::Status WatchOnce() {
    grpc::ClientContext call;
    SetDeadline(call, look_);
    const auto reader = connection_.stub().WatchSweep(&call, request_);
    const Canceller canceller(call, settings_.stop->file(), settings_.also_stop_on);
    v1::WatchSweepResponse answer;
    while (context_.out.good() && reader->Read(&answer)) {
      heard_ = true;
      KeepSubmitted(*answer.mutable_sweep());
      last_ = answer.sweep();
      request_.set_resume_token(answer.resume_token());
      Show(answer);
    }
    if (!context_.out.good()) call.TryCancel();
    return connection_.Named(FromGrpc(reader->Finish()));
  }

  // A watch tells it when it begins and when it changes.
  void KeepSubmitted(v1::SweepSummary& sweep) {
    if (sweep.has_sweep()) {
      submitted_ = sweep.sweep();
    } else {
      *sweep.mutable_sweep() = submitted_;
    }
  }

  void SayWhatStands() {
    if (!heard_ || HasEnded(last_)) return;
    std::vector<std::string> news = standstill_.News(last_, context_.clock.Steady());
    if (settings_.quiet) {
      for (std::string& line : others_.News(connection_, last_.id())) {
        news.push_back(std::move(line));
      }
    }
    for (const std::string& line : news) progress_.Note(context_.err, line);
  }

  void Show(const v1::WatchSweepResponse& answer) {
    ShowStorage(answer.storage_problem());
    const std::vector<std::string> lines(answer.lines().begin(), answer.lines().end());
    if (context_.Json() && !settings_.quiet) {
      const std::string counts = answer.sweep().SerializeAsString();
      if (lines.empty() && counts == shown_) return;  // Nothing new; the watch was opened anew.
      shown_ = counts;
      const Json line = {{"version", 1},
                         {"resume_token", std::to_string(answer.resume_token())},
                         {"sweep", SummaryJson(answer.sweep())},
                         {"storage_problem", answer.storage_problem()},
                         {"lines", lines}};
      context_.out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
      return;
    }
    progress_.Show(answer.sweep(), lines, Running(answer.sweep()), context_.clock.Steady());
  }

  // Once when it begins and once when it is over, in any form of output.
  void ShowStorage(const std::string& problem) {
    if (problem == storage_problem_) return;
    progress_.Finish();
    if (problem.empty()) context_.err << "the coordinator can write again; it goes on\n";
    WarnOfStorage(context_, problem);
    storage_problem_ = problem;
  }

  // Which members run; asked at most once a second, and only for a terminal.
  std::vector<std::string> Running(const v1::SweepSummary& sweep) {
    const absl::Duration now = context_.clock.Steady();
    const bool terminal = settings_.quiet ? context_.ErrRedraws() : context_.OutRedraws();
    if (!terminal || HasEnded(sweep)) return {};
    if (!storage_problem_.empty()) return {"nothing can be kept"};
    if (now - asked_ < absl::Seconds(1)) return running_;
    asked_ = now;
    const auto workers = connection_.Call(&Stub::ListWorkers, v1::ListWorkersRequest());
    if (!workers.ok()) return running_;
    running_.clear();
    for (const v1::WorkerSummary& worker : workers->workers()) {
      running_.insert(running_.end(), worker.running().begin(), worker.running().end());
    }
    return running_;
  }

  Context& context_;
  Connection& connection_;
  const FollowSettings settings_;
  Progress progress_;
  v1::WatchSweepRequest request_;
  v1::SweepSummary last_;
  v1::Sweep submitted_;  // As told last.
  absl::Duration look_ = kFirstLook;
  bool heard_ = false;  // Since the watch was opened last.
  std::string shown_;   // The counts that were printed as JSON last.
  Standstill standstill_;
  OtherSweeps others_;
  std::vector<std::string> running_;
  std::string storage_problem_;  // As last shown.
  absl::Duration asked_ = -absl::InfiniteDuration();
};

}  // namespace

absl::StatusOr<v1::SweepSummary> FollowSweep(Context& context, Connection& connection,
                                             uint64_t sweep, const FollowSettings& settings) {
  NF_CHECK(settings.stop != nullptr);
  return Follower(context, connection, sweep, settings).Follow();
}

}  // namespace noisefloor::cli
