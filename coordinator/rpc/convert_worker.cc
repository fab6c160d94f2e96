#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/base/names.h"
#include "common/files/sha256.h"
#include "common/rpc/kinds.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/ingest/accept.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

constexpr int kMaxHeld = 10000;        // Leases.
constexpr int kMaxMetricNames = 1000;  // Of a batch.

absl::Status Expected(std::string_view field, std::string_view expected, std::string_view got) {
  return InvalidInput(fmt::format("{}: expected {}, got {}", field, expected, got));
}

absl::Status CheckName(std::string_view field, std::string_view text) {
  if (IsName(text)) return absl::OkStatus();
  return Expected(field, kNameRule, fmt::format("'{}'", text.substr(0, kMaxQuoted)));
}

absl::Status CheckText(std::string_view field, std::string_view text, size_t least,
                       size_t most = kMaxDescription) {
  if (text.size() >= least && text.size() <= most) return absl::OkStatus();
  return Expected(field, fmt::format("{} to {} bytes", least, most),
                  fmt::format("{}", text.size()));
}

absl::Status CheckCount(std::string_view field, int count, int least, int most) {
  if (count >= least && count <= most) return absl::OkStatus();
  return Expected(field, fmt::format("{} to {} entries", least, most), fmt::format("{}", count));
}

absl::StatusOr<LeaseId> LeaseFrom(std::string_view field, uint64_t lease) {
  if (lease != 0) return LeaseId{lease};
  return Expected(field, "the number of a lease, from 1", "0");
}

template <typename List>
absl::StatusOr<std::vector<scheduler::HeldLease>> HeldFrom(std::string_view field,
                                                           const List& list) {
  NF_RETURN_IF_ERROR(CheckCount(field, list.size(), 0, kMaxHeld));
  std::vector<scheduler::HeldLease> result;
  for (const v1::HeldLease& held : list) {
    NF_ASSIGN_OR_RETURN(const LeaseId lease,
                        LeaseFrom(fmt::format("{}.lease_id", field), held.lease_id()));
    // Progress is for people: what is no count is not known.
    result.push_back({lease, held.sequence(), std::max<int64_t>(held.step(), 0),
                      std::max<int64_t>(held.step_count(), 0)});
  }
  return result;
}

absl::StatusOr<scheduler::Event> HeartbeatFrom(SessionId session, const v1::Heartbeat& message) {
  NF_ASSIGN_OR_RETURN(auto held, HeldFrom("heartbeat.held", message.held()));
  return scheduler::Heartbeat{session, std::move(held)};
}

absl::StatusOr<scheduler::Event> StartedFrom(SessionId session, const v1::AttemptStarted& message) {
  NF_ASSIGN_OR_RETURN(const LeaseId lease, LeaseFrom("started.lease_id", message.lease_id()));
  return scheduler::AttemptStarted{session, lease, message.data_identity(), message.resumes()};
}

// Why the columns are no records; empty: they are.
std::string ColumnsFault(const v1::RecordBatch& batch) {
  const int records = batch.value_size();
  if (batch.step_size() != records || batch.epoch_size() != records ||
      batch.metric_size() != records) {
    return fmt::format(
        "expected columns of equal length, got step {}, epoch {}, metric {}, value {}",
        batch.step_size(), batch.epoch_size(), batch.metric_size(), records);
  }
  if (static_cast<size_t>(records) > ingest::kMaxRecordsInBatch) {
    return fmt::format("expected at most {} records, got {}", ingest::kMaxRecordsInBatch, records);
  }
  const int names = batch.metric_names_size();
  if (names > kMaxMetricNames) {
    return fmt::format("expected at most {} metric_names, got {}", kMaxMetricNames, names);
  }
  for (int i = 0; i < records; ++i) {
    if (batch.metric(i) >= static_cast<uint32_t>(names)) {
      return fmt::format("metric[{}]: expected a place below {}, got {}", i, names,
                         batch.metric(i));
    }
  }
  return "";
}

absl::StatusOr<scheduler::Event> RecordsFrom(SessionId session, const v1::AttemptRecords& message) {
  NF_ASSIGN_OR_RETURN(const LeaseId lease, LeaseFrom("records.lease_id", message.lease_id()));
  const v1::RecordBatch& batch = message.batch();
  scheduler::RecordsArrived event{session, lease, {batch.sequence(), {}, ColumnsFault(batch)}};
  if (!event.batch.fault.empty()) return event;
  // Each record has a copy of its name: of one that is too long as much as shows that.
  std::vector<std::string> names;
  for (const std::string& name : batch.metric_names()) {
    names.push_back(name.substr(0, ingest::kMaxNameBytes + 1));
  }
  event.batch.records.reserve(batch.value_size());
  for (int i = 0; i < batch.value_size(); ++i) {
    event.batch.records.push_back(
        {batch.step(i), batch.epoch(i), names[batch.metric(i)], batch.value(i)});
  }
  return event;
}

// Nothing for what is not a worker's to say.
std::optional<CauseClass> CauseFrom(Outcome::Kind kind, const std::string& name) {
  if (kind != Outcome::Kind::kFailed) return CauseClass::kNone;
  const auto cause = ParseCauseClass(name);
  if (cause == CauseClass::kNone || cause == CauseClass::kLostWorker) return std::nullopt;
  return cause;
}

// How it ended. What makes no sense is a failure by a bug, and its message says why.
void FillEnd(const v1::Outcome& from, ingest::AttemptOutcome& outcome) {
  const auto kind = OutcomeKindFrom(from.kind());
  const auto cause = CauseFrom(kind.value_or(Outcome::Kind::kFailed), from.cause());
  outcome.kind = kind.value_or(Outcome::Kind::kFailed);
  outcome.cause = kind ? cause.value_or(CauseClass::kBug) : CauseClass::kBug;
  outcome.message = from.message();
  if (kind && cause) return;
  const std::string fault =
      kind ? fmt::format(
                 "outcome.cause: expected bad_specification, bad_data, out_of_memory, "
                 "lost_device, interrupted or bug, got '{}'",
                 from.cause().substr(0, kMaxQuoted))
           : fmt::format("outcome.kind: expected done, diverged or failed, got {}",
                         static_cast<int>(from.kind()));
  outcome.message = from.message().empty() ? fault : fault + "; " + from.message();
}

absl::StatusOr<scheduler::Event> FinishedFrom(SessionId session,
                                              const v1::AttemptFinished& message) {
  NF_ASSIGN_OR_RETURN(const LeaseId lease, LeaseFrom("finished.lease_id", message.lease_id()));
  const v1::Outcome& from = message.outcome();
  scheduler::AttemptFinished event{session, lease, {}, {}};
  ingest::AttemptOutcome& outcome = event.outcome;
  FillEnd(from, outcome);
  outcome.hashes = {from.hashes().begin(), from.hashes().end()};
  outcome.metrics = {from.metrics().begin(), from.metrics().end()};
  outcome.per_class_accuracy = {from.per_class_accuracy().begin(), from.per_class_accuracy().end()};
  outcome.environment = from.environment();
  outcome.train_seconds = from.train_seconds();
  outcome.data_identity = from.data_identity();
  for (const v1::Artifact& file : from.artifacts()) {
    outcome.artifacts.push_back({file.kind(), file.path(), file.sha256(), file.size()});
  }
  outcome.record_batches = from.record_batches();
  outcome = ingest::MakeStorable(std::move(outcome));
  return event;
}

// As the store keeps it, and people read it there.
absl::StatusOr<std::string> JsonOf(v1::Inventory inventory) {
  inventory.clear_schemas();  // Kept by themselves, once.
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(inventory, &json, options);
  if (!status.ok()) return InvalidInput("register.inventory: " + std::string(status.message()));
  return json;
}

// What a worker has. Those of version 0.1 say that any class goes with any stack on any slot.
v1::Inventory InventoryOf(const v1::Register& message) {
  if (message.has_inventory()) return message.inventory();
  v1::Inventory inventory;
  inventory.add_devices()->set_unit(message.unit());
  v1::Slot slot;
  slot.add_devices(0);
  // One more than there may be is refused as any other.
  constexpr int kMostMade = 257;
  for (const v1::ClassOffer& of_class : message.classes()) {
    for (const v1::StackOffer& stack : message.stacks()) {
      if (inventory.offers_size() == kMostMade) break;
      slot.add_offers(static_cast<uint32_t>(inventory.offers_size()));
      v1::Offer& offer = *inventory.add_offers();
      offer.set_hardware_class(of_class.name());
      offer.set_stack(stack.name());
      offer.set_fingerprint(stack.fingerprint());
      offer.set_build(stack.build());
    }
  }
  const uint32_t slots = std::min(message.slots(), 1025u);
  for (uint32_t i = 0; i < slots; ++i) *inventory.add_slots() = slot;
  return inventory;
}

// Of each fingerprint what the first offer with it tells.
std::vector<scheduler::Software> SoftwareOf(const Inventory& inventory) {
  std::set<std::string_view> told;
  std::vector<scheduler::Software> software;
  for (const Inventory::Offer& offer : inventory.offers) {
    if (offer.versions.empty() || !told.insert(offer.fingerprint).second) continue;
    software.push_back({offer.fingerprint, std::make_shared<const Versions>(offer.versions),
                        Json(offer.versions).dump()});
  }
  return software;
}

absl::Status CheckHasSomething(const v1::Inventory& inventory) {
  if (inventory.slots_size() > 0 || inventory.withheld_size() > 0) return absl::OkStatus();
  return Expected("register.inventory", "slots, or what is withheld and why", "neither");
}

// A year is as good as for ever, and no number of a worker's overflows.
absl::Duration LivesFrom(uint64_t milliseconds) {
  constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1000;
  return absl::Milliseconds(std::min(milliseconds, kYear));
}

v1::SessionResponse StartFrom(const scheduler::SendStart& send) {
  v1::SessionResponse response;
  v1::StartMember& start = *response.mutable_start();
  start.set_lease_id(send.lease.value);
  start.set_member(ToText(send.member));
  start.set_attempt(send.attempt);
  start.set_specification(send.specification);
  start.set_specification_sha256(Sha256Hex(send.specification));
  start.set_write_evaluation_set(send.write_evaluation_set);
  start.set_slot(send.slot);
  start.set_weights_sha256(send.weights_sha256);
  return response;
}

}  // namespace

absl::StatusOr<scheduler::WorkerConnected> WorkerFrom(SessionId session,
                                                      const v1::Register& message) {
  NF_RETURN_IF_ERROR(CheckName("register.name", message.name()));
  if (message.identity() == 0) {
    return Expected("register.identity", "the number of the worker's state directory, not 0", "0");
  }
  NF_RETURN_IF_ERROR(CheckText("register.version", message.version(), 0));
  const v1::Inventory told = InventoryOf(message);
  NF_RETURN_IF_ERROR(CheckHasSomething(told));
  scheduler::WorkerConnected event;
  event.session = session;
  event.name = message.name();
  event.identity = message.identity();
  NF_ASSIGN_OR_RETURN(Inventory inventory, InventoryFrom("register.inventory", told, false));
  NF_ASSIGN_OR_RETURN(event.schemas, SchemasFrom("register.inventory", told, inventory));
  event.software = SoftwareOf(inventory);
  event.inventory = std::make_shared<const Inventory>(std::move(inventory));
  NF_ASSIGN_OR_RETURN(event.inventory_text, JsonOf(told));
  event.version = message.version();
  if (message.lives_ms() > 0) event.lives = LivesFrom(message.lives_ms());
  NF_ASSIGN_OR_RETURN(event.held, HeldFrom("register.held", message.held()));
  return event;
}

absl::StatusOr<scheduler::Event> EventFrom(SessionId session, const v1::SessionRequest& message) {
  switch (message.message_case()) {
    case v1::SessionRequest::kHeartbeat: return HeartbeatFrom(session, message.heartbeat());
    case v1::SessionRequest::kStarted: return StartedFrom(session, message.started());
    case v1::SessionRequest::kRecords: return RecordsFrom(session, message.records());
    case v1::SessionRequest::kFinished: return FinishedFrom(session, message.finished());
    case v1::SessionRequest::kDraining: return scheduler::WorkerDraining{session};
    case v1::SessionRequest::kRegister:
    case v1::SessionRequest::MESSAGE_NOT_SET: break;
  }
  return InvalidInput(
      "session message: expected heartbeat, started, records, finished or draining, got none of "
      "them");
}

SessionId SessionOf(const scheduler::Send& send) {
  return std::visit(
      [](const auto& s) -> SessionId {
        if constexpr (requires { s.session; }) {
          return s.session;
        } else {
          return {};
        }
      },
      send);
}

v1::SessionResponse ToProto(const scheduler::Send& send, const WelcomeTimes& times) {
  v1::SessionResponse response;
  if (const auto* welcome = std::get_if<scheduler::SendWelcome>(&send)) {
    response.mutable_welcome()->set_worker_id(welcome->worker.value);
    response.mutable_welcome()->set_heartbeat_interval_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(times.heartbeat_interval)));
    response.mutable_welcome()->set_lease_ttl_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(times.lease_ttl)));
  } else if (const auto* start = std::get_if<scheduler::SendStart>(&send)) {
    response = StartFrom(*start);
  } else if (const auto* stop = std::get_if<scheduler::SendStop>(&send)) {
    response.mutable_stop()->set_lease_id(stop->lease.value);
    response.mutable_stop()->set_reason(stop->reason);
  } else if (const auto* kept = std::get_if<scheduler::SendRecordsKept>(&send)) {
    response.mutable_kept()->set_lease_id(kept->lease.value);
    response.mutable_kept()->set_sequence(kept->sequence);
  } else {
    const auto* settled = std::get_if<scheduler::SendSettled>(&send);
    NF_CHECK(settled != nullptr);
    response.mutable_settled()->set_lease_id(settled->lease.value);
    response.mutable_settled()->set_accepted(settled->accepted);
    response.mutable_settled()->set_reason(settled->reason);
  }
  return response;
}

}  // namespace noisefloor
