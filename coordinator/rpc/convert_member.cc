// Members, as messages.
#include <utility>

#include "common/rpc/kinds.h"
#include "common/rpc/settings.h"
#include "coordinator/rpc/convert_answers.h"
#include "coordinator/rpc/member_token.h"

namespace noisefloor {

namespace {

v1::Outcome ToProto(query::MemberEnd outcome, Texts& texts) {
  ingest::AttemptOutcome& attempt = outcome.attempt;
  v1::Outcome out;
  out.set_kind(ToProto(attempt.kind));
  if (attempt.cause != CauseClass::kNone) out.set_cause(std::string(Name(attempt.cause)));
  out.set_message(texts.Of(std::move(attempt.message)));
  for (const auto& [name, hash] : attempt.hashes) {
    (*out.mutable_hashes())[texts.Of(name)] = texts.Of(hash);
  }
  for (const auto& [name, value] : attempt.metrics)
    (*out.mutable_metrics())[texts.Of(name)] = value;
  out.mutable_per_class_accuracy()->Add(attempt.per_class_accuracy.begin(),
                                        attempt.per_class_accuracy.end());
  out.set_environment(texts.Of(std::move(attempt.environment)));
  out.set_train_seconds(attempt.train_seconds);
  out.set_data_identity(texts.Of(std::move(attempt.data_identity)));
  for (size_t i = 0; i < attempt.artifacts.size(); ++i) {
    Artifact& file = attempt.artifacts[i];
    v1::Artifact& out_file = *out.add_artifacts();
    out_file.set_kind(texts.Of(std::move(file.kind)));
    out_file.set_path(texts.Of(std::move(file.path)));
    out_file.set_sha256(texts.Of(std::move(file.sha256)));
    out_file.set_size(file.size);
    out_file.set_collected_unix_seconds(outcome.removed_unix_seconds.at(i));
  }
  out.set_record_batches(attempt.record_batches);
  return out;
}

}  // namespace

v1::Member ToProto(query::Member member, Texts& texts) {
  v1::Member out;
  out.set_id(ToText(member.id));
  out.set_sweep(member.id.sweep.value);
  out.set_cell(member.id.cell);
  out.set_replicate(member.id.replicate);
  out.set_block(member.block);
  out.set_plan(texts.Of(std::move(member.plan)));
  out.set_hardware(texts.Of(std::move(member.hardware)));
  out.set_stack(texts.Of(std::move(member.stack)));
  // What was read as JSON is UTF-8.
  for (const Setting& setting : member.axes) *out.add_axes() = noisefloor::ToProto(setting);
  out.set_state(ToProto(member.state));
  out.set_attempt(member.attempt);
  out.set_worker(texts.Of(std::move(member.worker)));
  for (const auto& [source, spec] : member.sources) {
    v1::SourceLane& told = (*out.mutable_sources())[std::string(Name(source))];
    told.set_state(ToProto(spec.state));
    told.set_lane(spec.lane.number);
    told.set_seed(spec.seed);
  }
  out.set_specification(texts.Of(std::move(member.specification)));
  out.set_specification_sha256(texts.Of(std::move(member.specification_sha256)));
  if (member.outcome) *out.mutable_outcome() = ToProto(*std::move(member.outcome), texts);
  if (member.subject) out.set_subject(ToText(*member.subject));
  out.set_weights_file(texts.Of(std::move(member.weights_file)));
  out.set_step(member.progress.step);
  out.set_step_count(member.progress.step_count);
  return out;
}

v1::ListMembersResponse ToProto(query::MemberPage page, Texts& texts) {
  v1::ListMembersResponse out;
  out.mutable_members()->Reserve(static_cast<int>(page.members.size()));
  for (query::Member& member : page.members) {
    *out.add_members() = ToProto(std::move(member), texts);
  }
  if (page.after) out.set_next_page_token(ToText({page.order, *page.after, page.after_key}));
  return out;
}

v1::GetMemberResponse ToProto(query::MemberWhole whole, Texts& texts) {
  v1::GetMemberResponse out;
  *out.mutable_member() = ToProto(std::move(whole.member), texts);
  for (std::string& line : whole.history) out.add_history(texts.Of(std::move(line)));
  for (query::Event& event : whole.events) *out.add_events() = ToProto(std::move(event), texts);
  return out;
}

}  // namespace noisefloor
