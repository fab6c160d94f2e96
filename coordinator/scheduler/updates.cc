// What people change of a kept sweep: how it shares the fleet, and what they say of it.
#include <algorithm>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor::scheduler {

namespace {

Sharing SharingAfter(const SweepUpdated& event, Sharing sharing) {
  sharing.priority = event.priority.value_or(sharing.priority);
  sharing.weight = event.weight.value_or(sharing.weight);
  sharing.paused = event.paused.value_or(sharing.paused);
  sharing.max_failures = event.max_failures.value_or(sharing.max_failures);
  sharing.archived = event.archived.value_or(sharing.archived);
  sharing.gpu_hours = event.gpu_hours.value_or(sharing.gpu_hours);
  for (const auto& [hardware, most] : event.set_limits) {
    if (most == 0) {
      sharing.limits.erase(hardware);
    } else {
      sharing.limits[hardware] = most;
    }
  }
  return sharing;
}

// "paused; priority 0 -> 5": what is otherwise; empty: nothing.
std::string Difference(const Sharing& before, const Sharing& after) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (before.paused != after.paused) add(after.paused ? "paused" : "goes on");
  if (before.priority != after.priority) {
    add("priority " + std::to_string(before.priority) + " -> " + std::to_string(after.priority));
  }
  if (before.weight != after.weight) {
    add("weight " + std::to_string(before.weight) + " -> " + std::to_string(after.weight));
  }
  if (before.max_failures != after.max_failures) {
    add(after.max_failures == 0 ? "stops at no number of failures"
                                : "stops at " + Count(after.max_failures, "failed member"));
  }
  if (before.gpu_hours != after.gpu_hours) {
    add(after.gpu_hours == 0 ? std::string("any number of GPU hours")
                             : fmt::format("at most {:g} GPU hours", after.gpu_hours));
  }
  for (const auto& [hardware, most] : after.limits) {
    const auto was = before.limits.find(hardware);
    if (was != before.limits.end() && was->second == most) continue;
    add("at most " + std::to_string(most) + " on " + hardware);
  }
  for (const auto& [hardware, most] : before.limits) {
    if (!after.limits.contains(hardware)) add("no limit on " + hardware);
  }
  if (before.archived != after.archived) add(after.archived ? "archived" : "no longer archived");
  return text;
}

// Why it cannot be; empty: it can.
std::string Obstacle(const SweepState& sweep, const SweepUpdated& event) {
  const uint32_t left =
      sweep.counts.In(MemberState::kWaiting) + sweep.counts.In(MemberState::kLeased);
  if (!event.archived.value_or(false)) return "";
  if (left == 0 && sweep::IsUndecided(sweep.content)) {
    return ToText(sweep.id) + " has not ended: its `until` decides how many replicates it takes";
  }
  if (left == 0) return "";
  return Count(left, "member") + " of " + ToText(sweep.id) +
         " wait or run: only a sweep that has ended is archived; `cancel " + ToText(sweep.id) +
         "` ends it";
}

// The first class that is given a limit and is none of the sweep's; empty: there is none.
std::string FaultOf(const SweepState& sweep, const std::map<std::string, uint32_t>& limits) {
  const std::vector<std::string>& classes = sweep.content.hardware;
  if (classes == std::vector<std::string>{""}) return "";  // Any.
  for (const auto& [hardware, most] : limits) {
    if (most == 0 || std::ranges::count(classes, hardware) > 0) continue;
    std::string has;
    for (const std::string& name : classes) has += (has.empty() ? "" : ", ") + name;
    return ToText(sweep.id) + " has no hardware class " + PrintableLine(hardware.substr(0, 100)) +
           "; it has " + has;
  }
  return "";
}

// What people say of a sweep.
struct Notes {
  std::string notes;
  std::map<std::string, std::string> tags;
  friend bool operator==(const Notes&, const Notes&) = default;
};

Notes NotesAfter(const SweepUpdated& event, Notes notes) {
  if (event.notes) notes.notes = *event.notes;
  for (const std::string& tag : event.remove_tags) notes.tags.erase(tag);
  for (const auto& [tag, value] : event.set_tags) notes.tags[tag] = value;
  return notes;
}

// What is wrong with them; empty: nothing.
std::string FaultOf(const Notes& notes) {
  const std::vector<sweep::Problem> problems = sweep::CheckNotes(notes.notes, notes.tags);
  return problems.empty() ? "" : problems.front().field + ": " + problems.front().message;
}

void SetNotes(Turn& turn, SweepState& sweep, const Notes& notes) {
  sweep.content.notes = notes.notes;
  sweep.content.tags = notes.tags;
  turn.Keep(KeepNotes{sweep.id, sweep.content, ++sweep.revision});
}

}  // namespace

void On(Turn& turn, const SweepUpdated& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  if (const std::string obstacle = Obstacle(*sweep, event); !obstacle.empty()) {
    return turn.Tell(AnswerError{event.request, absl::StatusCode::kFailedPrecondition, obstacle});
  }
  if (const std::string fault = FaultOf(*sweep, event.set_limits); !fault.empty()) {
    return turn.Tell(AnswerError{event.request, absl::StatusCode::kInvalidArgument, fault});
  }
  const Notes before = {sweep->content.notes, sweep->content.tags};
  const Notes notes = NotesAfter(event, before);
  if (const std::string fault = FaultOf(notes); !fault.empty()) {
    return turn.Tell(AnswerError{event.request, absl::StatusCode::kInvalidArgument, fault});
  }
  const Sharing after = SharingAfter(event, sweep->sharing);
  std::string text = Difference(sweep->sharing, after);
  if (!text.empty()) {
    SetSharing(turn.state, *sweep, after, sweep->spent);
    CheckUse(turn, *sweep);
    turn.state.placement_due = true;
    turn.Keep(KeepSharing{sweep->id, after});
  }
  if (notes != before) {
    SetNotes(turn, *sweep, notes);
    text += text.empty() ? "other notes or tags" : "; other notes or tags";
  }
  if (!text.empty()) {
    turn.effects.changed.sweeps.insert(sweep->id);
    turn.Happened(sweep->id, "sweep_updated", ToText(sweep->id) + " " + text, event.caller);
  }
  turn.Tell(AnswerCount{event.request, sweep->counts.members});
}

}  // namespace noisefloor::scheduler
