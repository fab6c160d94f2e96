// What people change of a kept sweep: how it shares the fleet, and what they say of it.
#include "coordinator/scheduler/handlers.h"

namespace noisefloor::scheduler {

namespace {

Sharing SharingAfter(const SweepUpdated& event, Sharing sharing) {
  sharing.priority = event.priority.value_or(sharing.priority);
  sharing.paused = event.paused.value_or(sharing.paused);
  sharing.max_failures = event.max_failures.value_or(sharing.max_failures);
  sharing.archived = event.archived.value_or(sharing.archived);
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
  if (before.max_failures != after.max_failures) {
    add(after.max_failures == 0 ? "stops at no number of failures"
                                : "stops at " + Count(after.max_failures, "failed member"));
  }
  if (before.archived != after.archived) add(after.archived ? "archived" : "no longer archived");
  return text;
}

// Why it cannot be; empty: it can.
std::string Obstacle(const SweepState& sweep, const SweepUpdated& event) {
  const uint32_t left =
      sweep.counts.In(MemberState::kWaiting) + sweep.counts.In(MemberState::kLeased);
  if (!event.archived.value_or(false) || left == 0) return "";
  return Count(left, "member") + " of " + ToText(sweep.id) +
         " wait or run: only a sweep that has ended is archived; `cancel " + ToText(sweep.id) +
         "` ends it";
}

// Whether notes or tags are others now.
bool ChangeNotes(sweep::Sweep& content, const SweepUpdated& event) {
  const std::string notes = content.notes;
  const std::map<std::string, std::string> tags = content.tags;
  if (event.notes) content.notes = *event.notes;
  for (const std::string& tag : event.remove_tags) content.tags.erase(tag);
  for (const auto& [tag, value] : event.set_tags) content.tags[tag] = value;
  return notes != content.notes || tags != content.tags;
}

}  // namespace

void On(Turn& turn, const SweepUpdated& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  if (const std::string obstacle = Obstacle(*sweep, event); !obstacle.empty()) {
    return turn.Tell(AnswerError{event.request, absl::StatusCode::kFailedPrecondition, obstacle});
  }
  const Sharing after = SharingAfter(event, sweep->sharing);
  std::string text = Difference(sweep->sharing, after);
  if (!text.empty()) {
    SetSharing(turn.state, *sweep, after);
    turn.state.placement_due = true;
    turn.Keep(KeepSharing{sweep->id, after});
  }
  if (ChangeNotes(sweep->content, event)) {
    turn.Keep(KeepNotes{sweep->id, sweep->content});
    text += text.empty() ? "other notes or tags" : "; other notes or tags";
  }
  if (!text.empty()) {
    ++sweep->revision;
    turn.effects.changed.sweeps.insert(sweep->id);
    turn.Happened(sweep->id, "sweep_updated", ToText(sweep->id) + " " + text);
  }
  turn.Tell(AnswerCount{event.request, sweep->counts.members});
}

}  // namespace noisefloor::scheduler
