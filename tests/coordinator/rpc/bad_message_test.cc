// What a session says wrongly ends that session, with the place and what was expected.
#include <functional>

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using Request = v1::SessionRequest;

struct BadMessage {
  std::string why;  // The message of the InvalidArgument.
  std::function<void(Request&)> make;
};

v1::RecordBatch& Batch(Request& request) {
  request = Request();
  request.mutable_records()->set_lease_id(1);
  v1::RecordBatch& batch = *request.mutable_records()->mutable_batch();
  batch.set_sequence(1);
  batch.add_metric_names("loss");
  batch.add_step(1);
  batch.add_epoch(1);
  batch.add_metric(0);
  batch.add_value(1);
  return batch;
}

v1::Outcome& Outcome(Request& request) {
  request = ScriptedWorker::Finish(1, 0);
  return *request.mutable_finished()->mutable_outcome();
}

const std::vector<BadMessage>& BadRegisters() {
  static const auto* const all = new std::vector<BadMessage>{
      {"register.name: expected 1 to 100 letters, digits, '-', '_', '.', '+', got ''",
       [](Request& r) { r.mutable_register_()->set_name(""); }},
      {"register.name: expected 1 to 100 letters, digits, '-', '_', '.', '+', got 'a b'",
       [](Request& r) { r.mutable_register_()->set_name("a b"); }},
      {"register.identity: expected the number of the worker's state directory, not 0, got 0",
       [](Request& r) { r.mutable_register_()->set_identity(0); }},
      {"register.slots: expected 1 to 1024, got 0",
       [](Request& r) { r.mutable_register_()->set_slots(0); }},
      {"register.slots: expected 1 to 1024, got 5000",
       [](Request& r) { r.mutable_register_()->set_slots(5000); }},
      {"register.unit: expected 1 to 400 bytes, got 0",
       [](Request& r) { r.mutable_register_()->clear_unit(); }},
      {"register.version: expected 0 to 400 bytes, got 401",
       [](Request& r) { r.mutable_register_()->set_version(std::string(401, 'v')); }},
      {"register.classes: expected 1 to 64 entries, got 0",
       [](Request& r) { r.mutable_register_()->clear_classes(); }},
      {"register.classes.name: expected 1 to 100 letters, digits, '-', '_', '.', '+', got 'cpu/x'",
       [](Request& r) { r.mutable_register_()->mutable_classes(0)->set_name("cpu/x"); }},
      {"register.stacks: expected 1 to 64 entries, got 0",
       [](Request& r) { r.mutable_register_()->clear_stacks(); }},
      {"register.stacks.fingerprint: expected 1 to 400 bytes, got 0",
       [](Request& r) { r.mutable_register_()->mutable_stacks(0)->clear_fingerprint(); }},
      {"register.held.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_register_()->add_held(); }},
      {"the first message of a session: expected register",
       [](Request& r) { r.mutable_heartbeat(); }},
      {"the first message of a session: expected register", [](Request& r) { r = Request(); }},
  };
  return *all;
}

const std::vector<BadMessage>& BadMessages() {
  static const auto* const all = new std::vector<BadMessage>{
      {"register: expected only as the first message of a session", [](Request&) {}},
      {"session message: expected heartbeat, started, records, finished or draining, got none of "
       "them",
       [](Request& r) { r = Request(); }},
      {"heartbeat.held.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_heartbeat()->add_held(); }},
      {"heartbeat.held.step of lease 3: expected 0 or more of 0 or more, got -1 of 0",
       [](Request& r) {
         r.mutable_heartbeat()->add_held()->set_lease_id(3);
         r.mutable_heartbeat()->mutable_held(0)->set_step(-1);
       }},
      {"started.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_started(); }},
      {"started.data_identity: expected 0 to 400 bytes, got 500",
       [](Request& r) {
         r.mutable_started()->set_lease_id(1);
         r.mutable_started()->set_data_identity(std::string(500, 'a'));
       }},
      {"records.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_records(); }},
      {"records.batch.sequence: expected a number from 1, got 0",
       [](Request& r) { Batch(r).set_sequence(0); }},
      {"records.batch.value: expected 1 to 100000 entries, got 0",
       [](Request& r) { Batch(r).clear_value(); }},
      {"records.batch: expected columns of equal length, got step 2, epoch 1, metric 1, value 1",
       [](Request& r) { Batch(r).add_step(2); }},
      {"records.batch.metric_names: expected 1 to 1000 entries, got 0",
       [](Request& r) { Batch(r).clear_metric_names(); }},
      {"records.batch.metric_names: expected 1 to 400 bytes, got 0",
       [](Request& r) { Batch(r).set_metric_names(0, ""); }},
      {"records.batch.metric[0]: expected a place below 1, got 7",
       [](Request& r) { Batch(r).set_metric(0, 7); }},
      {"finished.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_finished(); }},
      {"finished.outcome.kind: expected done, diverged or failed, got 0",
       [](Request& r) { Outcome(r).clear_kind(); }},
      {"finished.outcome.cause: expected bad_specification, bad_data, out_of_memory, lost_device, "
       "interrupted or bug, got 'sunspots'",
       [](Request& r) {
         v1::Outcome& outcome = Outcome(r);
         outcome.set_kind(v1::Outcome::KIND_FAILED);
         outcome.set_cause("sunspots");
       }},
      {"finished.outcome.environment: expected at most 4194304 bytes, got 5242880",
       [](Request& r) { Outcome(r).set_environment(std::string(5 << 20, ' ')); }},
      {"finished.outcome.per_class_accuracy: expected 0 to 20000 entries, got 20001",
       [](Request& r) {
         v1::Outcome& outcome = Outcome(r);
         for (int i = 0; i <= 20000; ++i) outcome.add_per_class_accuracy(0);
       }},
  };
  return *all;
}

using BadMessageTest = CoordinatorTest;

TEST_F(BadMessageTest, AWrongFirstMessageIsRefusedWithItsPlace) {
  for (const BadMessage& bad : BadRegisters()) {
    ScriptedWorker worker(*workers_);
    Request request = RegisterAs("box", 7);
    bad.make(request);
    ASSERT_TRUE(worker.Send(request));
    EXPECT_EQ(worker.End(), InvalidInput(bad.why));
  }
  // None of them has taken the name.
  const ScriptedWorker worker(*workers_, "box", 9);
}

TEST_F(BadMessageTest, AWrongLaterMessageEndsTheSessionWithItsPlace) {
  for (const BadMessage& bad : BadMessages()) {
    ScriptedWorker worker(*workers_, "box", 7);
    Request request = RegisterAs("box", 7);
    bad.make(request);
    ASSERT_TRUE(worker.Send(request));
    EXPECT_EQ(worker.End(), InvalidInput(bad.why));
  }
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("after", 1)).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

}  // namespace
}  // namespace noisefloor::test
