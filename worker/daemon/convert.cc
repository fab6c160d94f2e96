#include "worker/daemon/convert.h"

#include <limits>
#include <map>

#include "common/rpc/kinds.h"

namespace noisefloor {

namespace {

// Whatever wrote it: a message with a text that is no UTF-8 ends the session, now and on every
// repetition.
std::string Clean(std::string_view text) {
  return ToUtf8(text, std::numeric_limits<size_t>::max());
}

}  // namespace

v1::HeldLease ToProto(const slots::Held& held) {
  v1::HeldLease message;
  message.set_lease_id(held.lease.value);
  message.set_sequence(held.sequence);
  message.set_step(held.step);
  message.set_step_count(held.step_count);
  return message;
}

v1::RecordBatch ToProto(const RecordsEvent& event) {
  v1::RecordBatch batch;
  batch.set_sequence(event.sequence);
  std::map<std::string_view, uint32_t> places;
  for (const Record& record : event.records) {
    const auto [it, is_new] =
        places.emplace(record.metric, static_cast<uint32_t>(batch.metric_names_size()));
    if (is_new) batch.add_metric_names(Clean(record.metric));
    batch.add_step(record.step);
    batch.add_epoch(record.epoch);
    batch.add_metric(it->second);
    batch.add_value(record.value);
  }
  return batch;
}

v1::Outcome ToProto(const AttemptResult& result) {
  const Outcome& outcome = result.outcome;
  v1::Outcome message;
  message.set_kind(ToProto(outcome.kind));
  if (outcome.cause != CauseClass::kNone) message.set_cause(std::string(Name(outcome.cause)));
  message.set_message(Clean(outcome.message));
  for (const auto& [name, hash] : outcome.hashes) {
    (*message.mutable_hashes())[Clean(name)] = Clean(hash);
  }
  for (const auto& [name, value] : outcome.metrics) {
    (*message.mutable_metrics())[Clean(name)] = value;
  }
  for (const double accuracy : outcome.per_class_accuracy) {
    message.add_per_class_accuracy(accuracy);
  }
  message.set_environment(Clean(outcome.environment));
  message.set_train_seconds(outcome.train_seconds);
  message.set_data_identity(Clean(result.data_identity));
  message.set_record_batches(result.record_batches);
  for (const Artifact& artifact : result.artifacts) {
    v1::Artifact* added = message.add_artifacts();
    added->set_kind(Clean(artifact.kind));
    added->set_path(Clean(artifact.path));
    added->set_sha256(artifact.sha256);
    added->set_size(artifact.size);
  }
  return message;
}

v1::SessionRequest HeartbeatMessage(const std::vector<slots::Held>& held) {
  v1::SessionRequest request;
  v1::Heartbeat* heartbeat = request.mutable_heartbeat();
  for (const slots::Held& lease : held) *heartbeat->add_held() = ToProto(lease);
  return request;
}

v1::SessionRequest StartedMessage(LeaseId lease, const std::string& data_identity, bool resumes) {
  v1::SessionRequest request;
  request.mutable_started()->set_lease_id(lease.value);
  request.mutable_started()->set_data_identity(Clean(data_identity));
  request.mutable_started()->set_resumes(resumes);
  return request;
}

v1::SessionRequest RecordsMessage(LeaseId lease, const RecordsEvent& event) {
  v1::SessionRequest request;
  request.mutable_records()->set_lease_id(lease.value);
  *request.mutable_records()->mutable_batch() = ToProto(event);
  return request;
}

v1::SessionRequest FinishedMessage(LeaseId lease, const AttemptResult& result) {
  v1::SessionRequest request;
  request.mutable_finished()->set_lease_id(lease.value);
  *request.mutable_finished()->mutable_outcome() = ToProto(result);
  return request;
}

v1::SessionRequest DrainingMessage() {
  v1::SessionRequest request;
  request.mutable_draining();
  return request;
}

}  // namespace noisefloor
