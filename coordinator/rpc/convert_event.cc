// What happened, and what a member measures as it runs, as messages.
#include <utility>

#include "common/rpc/kinds.h"
#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

v1::EventKind ToProto(query::EventKind kind) {
  switch (kind) {
    case query::EventKind::kLeased: return v1::EVENT_KIND_LEASED;
    case query::EventKind::kDone: return v1::EVENT_KIND_DONE;
    case query::EventKind::kDiverged: return v1::EVENT_KIND_DIVERGED;
    case query::EventKind::kRetried: return v1::EVENT_KIND_RETRIED;
    case query::EventKind::kFailed: return v1::EVENT_KIND_FAILED;
    case query::EventKind::kCancelled: return v1::EVENT_KIND_CANCELLED;
    case query::EventKind::kLost: return v1::EVENT_KIND_LOST;
    case query::EventKind::kRequeued: return v1::EVENT_KIND_REQUEUED;
    case query::EventKind::kSubmitted: return v1::EVENT_KIND_SUBMITTED;
    case query::EventKind::kUpdated: return v1::EVENT_KIND_UPDATED;
    case query::EventKind::kExtended: return v1::EVENT_KIND_EXTENDED;
    case query::EventKind::kOther: return v1::EVENT_KIND_OTHER;
  }
  return v1::EVENT_KIND_UNSPECIFIED;
}

}  // namespace

v1::Event ToProto(query::Event event, Texts& texts) {
  v1::Event out;
  out.set_number(event.number.value);
  out.set_unix_micros(event.unix_micros);
  out.set_kind(ToProto(event.kind));
  if (event.member) out.set_member(ToText(*event.member));
  out.set_attempt(event.attempt);
  out.set_lease(event.lease.value);
  out.set_worker(texts.Of(std::move(event.worker)));
  out.set_caller(texts.Of(std::move(event.caller)));
  out.set_text(texts.Of(std::move(event.text)));
  return out;
}

v1::WatchMemberResponse ToProto(query::MemberNews news, Texts& texts) {
  v1::WatchMemberResponse out;
  out.set_state(ToProto(news.state));
  out.set_lease(news.lease.value);
  out.set_attempt(news.attempt);
  out.set_step(news.progress.step);
  out.set_steps(news.progress.step_count);
  for (query::MeasuredValue& measured : news.values) {
    v1::RecordedValue& value = *out.add_values();
    value.set_step(measured.step);
    value.set_name(texts.Of(std::move(measured.name)));
    value.set_value(measured.value);
  }
  for (query::Event& event : news.events) *out.add_events() = ToProto(std::move(event), texts);
  return out;
}

}  // namespace noisefloor
