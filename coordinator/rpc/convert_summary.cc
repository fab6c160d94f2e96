// Sweeps with their counts, as messages.
#include <utility>

#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

// Who asked for it, and which member it was, are part of the line.
std::string LineOf(const query::Event& event) {
  std::string text = event.text;
  if (!event.caller.empty()) text += " by " + event.caller;
  if (!event.member) return text;
  const std::string id = ToText(*event.member);
  return text.find(id) == std::string::npos ? id + " " + text : text;
}

void SetFacts(const query::SweepFacts& facts, Texts& texts, v1::SweepSummary& out) {
  out.set_id(facts.id.value);
  out.set_name(texts.Of(facts.name));
  out.set_submitted_unix_seconds(facts.submitted_unix_seconds);
  out.set_specification_sha256(texts.Of(facts.specification_sha256));
  out.set_kind(std::string(sweep::Name(facts.kind)));
  if (facts.of) out.set_of(ToText(*facts.of));
  if (facts.of_sweep) out.set_of(ToText(*facts.of_sweep));
  for (const std::string& name : facts.hardware) out.add_hardware(texts.Of(name));
}

}  // namespace

v1::SweepSummary ToProto(const query::SweepSummary& sweep, Texts& texts) {
  v1::SweepSummary out;
  SetFacts(*sweep.facts, texts, out);
  if (sweep.submitted != nullptr) *out.mutable_sweep() = ToProto(*sweep.submitted, texts);
  const query::SweepProgress& now = sweep.now;
  out.set_cells(now.cells);
  out.set_waiting(now.waiting);
  out.set_leased(now.leased);
  out.set_done(now.done);
  out.set_diverged(now.diverged);
  out.set_failed(now.failed);
  out.set_cancelled(now.cancelled);
  out.set_retries(now.retries);
  out.set_mean_member_seconds(now.mean_seconds);
  out.set_progress(sweep.progress);
  out.set_owner(texts.Of(now.owner));
  out.set_priority(now.priority);
  out.set_weight(now.weight);
  out.set_paused(now.paused);
  out.set_max_failures(now.max_failures);
  out.set_archived(now.archived);
  out.set_gpu_hours(now.gpu_hours);
  out.set_gpu_hours_used(now.gpu_hours_used);
  for (const auto& [hardware, most] : now.limits)
    (*out.mutable_limits())[texts.Of(hardware)] = most;
  out.set_members_per_hour(now.members_per_hour);
  out.set_expected_seconds_left(sweep.seconds_left);
  out.set_undecided(now.undecided);
  return out;
}

v1::GetSweepResponse ToProto(query::SweepWhole whole, Texts& texts) {
  v1::GetSweepResponse out;
  *out.mutable_sweep() = ToProto(whole.sweep, texts);
  out.set_file(texts.Of(std::move(whole.file)));
  out.set_resolved_file(texts.Of(std::move(whole.resolved_file)));
  return out;
}

v1::ListSweepsResponse ToProto(const query::SweepPage& page, Texts& texts) {
  v1::ListSweepsResponse out;
  out.mutable_sweeps()->Reserve(static_cast<int>(page.sweeps.size()));
  for (const query::SweepSummary& sweep : page.sweeps) *out.add_sweeps() = ToProto(sweep, texts);
  if (page.after) out.set_next_page_token(ToText(*page.after));
  return out;
}

v1::WatchSweepResponse ToProto(query::SweepNews news, Texts& texts) {
  v1::WatchSweepResponse out;
  out.set_resume_token(news.place.after.value);
  *out.mutable_sweep() = ToProto(news.sweep, texts);
  for (query::Event& event : news.events) {
    out.add_lines(texts.Of(LineOf(event)));
    *out.add_events() = ToProto(std::move(event), texts);
  }
  return out;
}

}  // namespace noisefloor
