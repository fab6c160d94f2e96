#include "coordinator/cli/follow_member.h"

#include <unistd.h>

#include <set>
#include <utility>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "common/rpc/backoff.h"
#include "coordinator/cli/canceller.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

std::string ClockText(int64_t unix_micros) {
  return absl::FormatTime("%H:%M:%S", absl::FromUnixMicros(unix_micros), absl::UTCTimeZone());
}

class MemberFollower {
 public:
  MemberFollower(Context& context, Connection& connection, const std::string& member,
                 const StopSignal& stop)
      : context_(context), connection_(connection), stop_(stop) {
    request_.set_member(member);
  }

  absl::StatusOr<v1::MemberState> Follow() {
    Backoff backoff({}, static_cast<uint64_t>(getpid()));  // Others watch the same member.
    for (int tries = 0; tries < kMostTriesUnanswered; ++tries) {
      heard_ = false;
      const absl::Status status = WatchOnce();
      if (status.ok() || stop_.Requested() || !context_.out.good()) return state_;
      if (std::exchange(heard_, false)) {
        tries = 0;
        backoff.Reset();
      }
      const bool lost = absl::IsUnavailable(status) || absl::IsCancelled(status);
      const bool again = absl::IsResourceExhausted(status) || (lost && connection_.remote());
      if (!again) return status;
      if (tries == 1) context_.err << "the coordinator does not answer; waiting for it\n";
      if (stop_.WaitFor(connection_.PauseOf(lost, backoff.Next()))) return state_;
      if (lost) connection_.WaitUntilBack([this] { return stop_.Requested(); });
    }
    return MakeError(absl::StatusCode::kUnavailable, "the coordinator does not come back");
  }

 private:
  absl::Status WatchOnce() {
    coming_again_ = printed_;
    grpc::ClientContext call;
    const auto reader = connection_.stub().WatchMember(&call, request_);
    const Canceller canceller(call, stop_.file(), -1);
    v1::WatchMemberResponse answer;
    while (context_.out.good() && reader->Read(&answer)) {
      heard_ = true;
      Take(answer);
    }
    if (!context_.out.good()) call.TryCancel();
    return connection_.Named(FromGrpc(reader->Finish()));
  }

  // A step's values may come in two messages, so the next watch begins with the last step, and as
  // many of its values as were printed are left out.
  void Take(v1::WatchMemberResponse& answer) {
    state_ = answer.state();
    if (answer.lease() != request_.lease()) {
      request_.set_lease(answer.lease());
      request_.set_after_step(-1);
      last_step_ = -1;
      printed_ = coming_again_ = 0;
    }
    google::protobuf::RepeatedPtrField<v1::RecordedValue> values;
    values.Swap(answer.mutable_values());
    for (v1::RecordedValue& value : values) {
      if (value.step() != last_step_) printed_ = coming_again_ = 0;
      last_step_ = value.step();
      if (coming_again_ > 0) {
        --coming_again_;
      } else {
        ++printed_;
        *answer.add_values() = std::move(value);
      }
    }
    request_.set_after_step(last_step_ - 1);
    EraseTold(*answer.mutable_events());
    Print(answer);
  }

  // An end may be told again after a break: it is of the lease that the watch names.
  void EraseTold(google::protobuf::RepeatedPtrField<v1::Event>& events) {
    for (int i = events.size() - 1; i >= 0; --i) {
      if (!told_.insert({events[i].lease(), events[i].kind()}).second) {
        events.DeleteSubrange(i, 1);
      }
    }
  }

  void Print(const v1::WatchMemberResponse& answer) {
    if (context_.Json()) return PrintAsJson(answer);
    PrintEvents(answer, /*ends=*/false);
    std::string line;
    for (int i = 0; i < answer.values_size(); ++i) {
      const v1::RecordedValue& value = answer.values(i);
      if (line.empty()) line = StepText(value.step(), answer.steps());
      line += fmt::format("  {} {:.4g}", PrintableLine(value.name()), value.value());
      const bool last = i + 1 == answer.values_size();
      if (!last && answer.values(i + 1).step() == value.step()) continue;
      context_.out << std::exchange(line, "") << "\n";
    }
    PrintEvents(answer, /*ends=*/true);
    context_.out.flush();
  }

  // What it was given goes before what it measured, how it ended after.
  void PrintEvents(const v1::WatchMemberResponse& answer, bool ends) {
    for (const v1::Event& event : answer.events()) {
      if ((event.kind() != v1::EVENT_KIND_LEASED) != ends) continue;
      context_.out << fmt::format("{} {}\n", ClockText(event.unix_micros()),
                                  PrintableLine(event.text()));
    }
  }

  static std::string StepText(int64_t step, int64_t steps) {
    return steps > 0 ? fmt::format("step {}/{}", step, steps) : fmt::format("step {}", step);
  }

  void PrintAsJson(const v1::WatchMemberResponse& answer) {
    Json values = Json::array();
    for (const v1::RecordedValue& value : answer.values()) {
      values.push_back(
          {{"step", value.step()}, {"name", value.name()}, {"value", JsonNumber(value.value())}});
    }
    Json events = Json::array();
    for (const v1::Event& event : answer.events()) events.push_back(EventJson(event));
    const Json line = {{"version", 1},
                       {"member", request_.member()},
                       {"state", Name(answer.state())},
                       {"lease", std::to_string(answer.lease())},
                       {"attempt", answer.attempt()},
                       {"step", answer.step()},
                       {"steps", answer.steps()},
                       {"values", values},
                       {"events", events}};
    context_.out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }

  Context& context_;
  Connection& connection_;
  const StopSignal& stop_;
  v1::WatchMemberRequest request_;
  v1::MemberState state_ = v1::MEMBER_STATE_UNSPECIFIED;
  int64_t last_step_ = -1;
  int printed_ = 0;       // Values of the last step,
  int coming_again_ = 0;  // and how many of them a watch after a break tells once more.
  std::set<std::pair<uint64_t, int>> told_;
  bool heard_ = false;  // Since the watch was opened last.
};

}  // namespace

absl::StatusOr<v1::MemberState> FollowMember(Context& context, Connection& connection,
                                             const std::string& member, const StopSignal& stop) {
  return MemberFollower(context, connection, member, stop).Follow();
}

}  // namespace noisefloor::cli
