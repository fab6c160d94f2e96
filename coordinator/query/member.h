// What can be asked of members, and what is told of them. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/member_state.h"
#include "common/base/noise_source.h"
#include "common/trainer_protocol/setting.h"
#include "common/trainer_protocol/specification.h"
#include "coordinator/ingest/outcome.h"
#include "coordinator/query/event.h"
#include "coordinator/scheduler/member_selection.h"

namespace noisefloor::query {

// How far a running attempt is, as its worker last said.
struct Progress {
  int64_t step = 0;
  int64_t step_count = 0;  // 0 when not known yet.
};

// How much of a member is told.
enum class MemberView : uint8_t {
  kBasic,  // See v1::MEMBER_VIEW_BASIC.
  kFull,
};

// How a member ended.
struct MemberEnd {
  // Of the attempt that was accepted, else of the last. Its environment holds what was measured,
  // too.
  ingest::AttemptOutcome attempt;
  // Of each of its artifacts, when it was removed to make room; 0: it is there.
  std::vector<int64_t> removed_unix_seconds;
};

struct Member {
  MemberId id;
  uint32_t block = 0;
  std::string plan;
  std::string hardware;  // Empty until its cell has one, as the stack.
  std::string stack;
  Settings axes;  // What axes gave its cell.
  MemberState state = MemberState::kWaiting;
  uint32_t attempt = 0;                       // The last; 0 before the first.
  std::string worker;                         // Name, of the last attempt.
  std::map<NoiseSource, SourceSpec> sources;  // Here and below: empty in the basic view.
  std::string specification;                  // Canonical JSON. Empty, too, where it is damaged.
  std::string specification_sha256;
  std::optional<MemberId> subject;   // Of an inference: whose weights, or whose test set.
  std::string weights_file;          // As in sweep::GivenWeights.
  std::optional<MemberEnd> outcome;  // In both views. Nothing: it has not ended so.
  Progress progress;                 // In the basic view only while it runs.
};

// What members are put in order by.
enum class OrderBy : uint8_t {
  kMember,   // Cell and replicate; also of those that are equal in another.
  kState,    // As in MemberState.
  kAttempt,  // How many it has had.
  kTop1,     // Of its result.
  kWorker,   // Name, of the last attempt.
};
struct MemberOrder {
  OrderBy by = OrderBy::kMember;
  bool descending = false;
  bool plain() const { return *this == MemberOrder{}; }
  friend bool operator==(const MemberOrder&, const MemberOrder&) = default;
};

// What a member has of what it is put in order by. What lacks it comes last, either way round.
struct MemberKey {
  bool lacks = false;
  double number = 0;
  std::string text;
  friend bool operator==(const MemberKey&, const MemberKey&) = default;
};

// A page of a sweep's members.
struct MemberQuestion {
  SweepId sweep;  // Not 0.
  scheduler::Selection selection;
  uint32_t most = 0;              // Members of the page; 1 or more.
  std::optional<MemberId> after;  // The last one of the page before.
  MemberView view = MemberView::kBasic;
  MemberOrder order = {};
  MemberKey after_key = {};  // Of `after`, as it was then.
};

struct MemberPage {
  std::vector<Member> members;    // In the order that was asked for.
  std::optional<MemberId> after;  // Where the next page goes on; nothing: there is none.
  MemberKey after_key = {};       // Of `after`.
  MemberOrder order = {};         // As asked for.
};

// All that is known of a member.
struct MemberWhole {
  Member member;
  std::vector<std::string> history;  // Every attempt, first to last, in words.
  std::vector<Event> events;         // The same as values.
};

// One value at a step.
struct MeasuredValue {
  int64_t step = 0;
  std::string name;  // "train/loss"
  double value = 0;  // May be not finite.
};

// How far one who watches a member has been told. At first only `member` is set; to go on with a
// lease, `first` and `lease` to it, `events` to 1 (that it was granted) and `after_step`.
struct MemberPlace {
  MemberId member;
  LeaseId first;            // Events of earlier leases were told before.
  size_t events = 0;        // Of those from `first` on.
  LeaseId lease;            // Of whose records were told
  int64_t after_step = -1;  // those up to this step,
  uint64_t batch = 0;       // and those up to this place in this batch.
  int64_t item = -1;
  std::optional<MemberState> state = {};  // As told last.
  int64_t step = 0;
};

struct MemberNews {
  MemberState state = MemberState::kWaiting;
  LeaseId lease;         // That the values are of; 0: it has had none.
  uint32_t attempt = 0;  // From 1.
  Progress progress;
  std::vector<MeasuredValue> values;  // New ones, in order of their steps.
  std::vector<Event> events;          // Since the place before.
  MemberPlace place;                  // After it.
  bool more = false;                  // There is more to tell at once.
  bool moved = false;                 // It says what was not said before.
  bool ended = false;                 // The member has ended, and all was told.
};

}  // namespace noisefloor::query
