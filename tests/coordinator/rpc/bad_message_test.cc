// What a session says wrongly ends that session, with the place and what was expected; what is
// wrong with the payload of one lease ends that lease and nothing else.
#include <functional>

#include "fmt/format.h"

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using Request = v1::SessionRequest;

struct BadMessage {
  std::string why;  // What it is answered with.
  std::function<void(Request&)> make;
};

v1::RecordBatch& Batch(Request& request) {
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

v1::Outcome& Failure(Request& request, const std::string& cause) {
  v1::Outcome& outcome = Outcome(request);
  outcome.set_kind(v1::Outcome::KIND_FAILED);
  outcome.set_cause(cause);
  return outcome;
}

v1::Inventory& InventoryOf(Request& request) {
  return *request.mutable_register_()->mutable_inventory();
}

// As a worker of version 0.1 does.
v1::Register& RegisterAsOld(Request& request) {
  v1::Register& message = *request.mutable_register_();
  message.clear_inventory();  // With the settings: it tells of none.
  message.set_slots(2);
  message.set_unit("GPU-1 GPU-2");
  message.add_classes()->set_name("cpu-amd-avx2");
  message.add_classes()->set_name("nvidia-t4");
  v1::StackOffer& stack = *message.add_stacks();
  stack.set_name("torch-2.11-cpu");
  stack.set_fingerprint("f");
  return message;
}

const std::vector<BadMessage>& BadRegisters() {
  static const auto* const all = new std::vector<BadMessage>{
      {"register.name: expected 1 to 100 letters, digits, '-', '_' or '.', got ''",
       [](Request& r) { r.mutable_register_()->set_name(""); }},
      {"register.name: expected 1 to 100 letters, digits, '-', '_' or '.', got 'a b'",
       [](Request& r) { r.mutable_register_()->set_name("a b"); }},
      {"register.identity: expected the number of the worker's state directory, not 0, got 0",
       [](Request& r) { r.mutable_register_()->set_identity(0); }},
      {"register.inventory: expected slots, or what is withheld and why, got neither",
       [](Request& r) { InventoryOf(r).Clear(); }},
      {"register.inventory.devices.unit: expected 1 to 2000 bytes, got 0",  // As version 0.1 did.
       [](Request& r) { RegisterAsOld(r).clear_unit(); }},
      {"register.inventory: expected slots, or what is withheld and why, got neither",
       [](Request& r) { RegisterAsOld(r).set_slots(0); }},
      {"register.inventory.slots: expected 0 to 1024 entries, got 1025",
       [](Request& r) { RegisterAsOld(r).set_slots(5000); }},
      // Every class with every stack: 400 million, which are not made to be counted.
      {"register.inventory.offers: expected 0 to 256 entries, got 257",
       [](Request& r) {
         v1::Register& message = RegisterAsOld(r);
         for (int i = 0; i < 20000; ++i) message.add_classes()->set_name("cpu-amd-sse");
         for (int i = 0; i < 20000; ++i) message.add_stacks()->set_name("torch");
       }},
      {"register.inventory.slots.offers: expected 1 to 256 entries, got 0",
       [](Request& r) { RegisterAsOld(r).clear_classes(); }},
      {"register.inventory.slots: expected 0 to 1024 entries, got 1025",
       [](Request& r) {
         for (int i = 0; i < 1024; ++i) *InventoryOf(r).add_slots() = InventoryOf(r).slots(0);
       }},
      {"register.inventory.slots.devices: expected 1 to 64 entries, got 0",
       [](Request& r) { InventoryOf(r).mutable_slots(0)->clear_devices(); }},
      {"register.inventory.slots.devices: expected places below 1, got 1",
       [](Request& r) { InventoryOf(r).mutable_slots(0)->set_devices(0, 1); }},
      {"register.inventory.slots.devices: expected each place once, got 0 twice",
       [](Request& r) { InventoryOf(r).mutable_slots(0)->add_devices(0); }},
      {"register.inventory.slots.offers: expected 1 to 256 entries, got 0",
       [](Request& r) { InventoryOf(r).mutable_slots(0)->clear_offers(); }},
      {"register.inventory.slots.offers: expected places below 1, got 7",
       [](Request& r) { InventoryOf(r).mutable_slots(0)->set_offers(0, 7); }},
      {"register.inventory.offers: expected each to be some slot's, got place 1 of none",
       [](Request& r) { *InventoryOf(r).add_offers() = InventoryOf(r).offers(0); }},
      {"register.inventory.devices.unit: expected 1 to 2000 bytes, got 0",
       [](Request& r) { InventoryOf(r).mutable_devices(0)->clear_unit(); }},
      {"register.inventory.devices.unit: expected 1 to 2000 bytes, got 2001",
       [](Request& r) { InventoryOf(r).mutable_devices(0)->set_unit(std::string(2001, 'G')); }},
      {"register.inventory.withheld.reason: expected 1 to 2000 bytes, got 0",
       [](Request& r) { InventoryOf(r).add_withheld()->set_what("GPU-1"); }},
      {"register.inventory: expected at most 1 MiB, got 1200131 bytes",
       [](Request& r) {
         InventoryOf(r).clear_schemas();
         InventoryOf(r).mutable_offers(0)->clear_schema();
         InventoryOf(r).mutable_devices(0)->set_note(std::string(1200000, 'n'));
       }},
      {"register.version: expected 0 to 400 bytes, got 401",
       [](Request& r) { r.mutable_register_()->set_version(std::string(401, 'v')); }},
      {"register.inventory.offers.hardware_class: expected 1 to 100 letters, digits, '-', '_' or "
       "'.', got 'cpu/x'",
       [](Request& r) { InventoryOf(r).mutable_offers(0)->set_hardware_class("cpu/x"); }},
      {"register.inventory.offers.stack: expected 1 to 100 letters, digits, '-', '_' or '.', got "
       "''",
       [](Request& r) { InventoryOf(r).mutable_offers(0)->clear_stack(); }},
      {"register.inventory.offers.fingerprint: expected 1 to 400 bytes, got 0",
       [](Request& r) { InventoryOf(r).mutable_offers(0)->clear_fingerprint(); }},
      {"register.inventory.devices.hardware_classes: expected 0 to 16 entries, got 17",
       [](Request& r) {
         for (int i = 0; i < 17; ++i) InventoryOf(r).mutable_devices(0)->add_hardware_classes("c");
       }},
      {"register.inventory.devices.hardware_classes: expected 1 to 100 letters, digits, '-', '_' "
       "or '.', got 'a b'",
       [](Request& r) { InventoryOf(r).mutable_devices(0)->add_hardware_classes("a b"); }},
      {"register.inventory.devices.architectures: expected 0 to 16 entries, got 17",
       [](Request& r) {
         for (int i = 0; i < 17; ++i) InventoryOf(r).mutable_devices(0)->add_architectures("a");
       }},
      {"register.inventory.devices.architectures: expected 1 to 100 letters, digits, '-', '_' or "
       "'.', got ''",
       [](Request& r) { InventoryOf(r).mutable_devices(0)->add_architectures(""); }},
      {"register.inventory.offers.versions: expected 0 to 32 entries, got 33",
       [](Request& r) {
         auto& versions = *InventoryOf(r).mutable_offers(0)->mutable_versions();
         for (int i = 0; i < 33; ++i) versions[std::to_string(i)] = "1";
       }},
      {"register.inventory.offers.versions: expected 1 to 200 bytes, got 0",
       [](Request& r) { (*InventoryOf(r).mutable_offers(0)->mutable_versions())[""] = "1"; }},
      {"register.inventory.offers.versions: expected 0 to 200 bytes, got 201",
       [](Request& r) {
         (*InventoryOf(r).mutable_offers(0)->mutable_versions())["cudnn"] = std::string(201, '9');
       }},
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
      {"started.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_started(); }},
      {"records.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_records(); }},
      {"finished.lease_id: expected the number of a lease, from 1, got 0",
       [](Request& r) { r.mutable_finished(); }},
  };
  return *all;
}

// A batch for which the lease is stopped.
const std::vector<BadMessage>& BadBatches() {
  static const auto* const all = new std::vector<BadMessage>{
      {"record batch 0: batches are numbered from 1", [](Request& r) { Batch(r).set_sequence(0); }},
      {"record batch 1: expected 1 to 100000 records, got 0",
       [](Request& r) {
         Batch(r).Clear();
         r.mutable_records()->mutable_batch()->set_sequence(1);
       }},
      {"record batch 1: expected columns of equal length, got step 2, epoch 1, metric 1, value 1",
       [](Request& r) { Batch(r).add_step(2); }},
      {"record batch 1: metric[0]: expected a place below 0, got 0",
       [](Request& r) { Batch(r).clear_metric_names(); }},
      {"record batch 1: metric[0]: expected a place below 1, got 7",
       [](Request& r) { Batch(r).set_metric(0, 7); }},
      {"record batch 1: expected at most 1000 metric_names, got 1001",
       [](Request& r) {
         v1::RecordBatch& batch = Batch(r);
         while (batch.metric_names_size() < 1001) batch.add_metric_names("loss");
       }},
      {"record batch 1, record 0: expected the name of a metric, got an empty text",
       [](Request& r) { Batch(r).set_metric_names(0, ""); }},
  };
  return *all;
}

// An end that is settled as a failure.
const std::vector<BadMessage>& BadEnds() {
  static const auto* const all = new std::vector<BadMessage>{
      {"outcome.kind: expected done, diverged or failed, got 0",
       [](Request& r) { Outcome(r).clear_kind(); }},
      {"outcome.cause: expected bad_specification, bad_data, out_of_memory, lost_device, "
       "interrupted or bug, got 'sunspots'; exit code 99",
       [](Request& r) { Failure(r, "sunspots").set_message("exit code 99"); }},
      {"outcome.cause: expected bad_specification, bad_data, out_of_memory, lost_device, "
       "interrupted or bug, got 'lost_worker'",
       [](Request& r) { Failure(r, "lost_worker"); }},
      {"expected at most 10000 classes, got 20001",
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

TEST_F(BadMessageTest, ABatchThatMakesNoSenseEndsItsLeaseAndTheSessionLives) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("poison", 10)).ok());
  for (const BadMessage& bad : BadBatches()) {
    const uint64_t lease = worker.Started().lease_id();
    Request request;
    bad.make(request);
    request.mutable_records()->set_lease_id(lease);
    ASSERT_TRUE(worker.Send(request));
    const auto stop = worker.Next(ScriptedWorker::Case::kStop);
    ASSERT_TRUE(stop.has_value()) << bad.why;
    EXPECT_EQ(stop->stop().lease_id(), lease);
    EXPECT_EQ(stop->stop().reason(), bad.why);
  }
  EXPECT_NE(worker.Started().lease_id(), 0u);
}

// Each of them would have had its own megabyte: fifty gigabytes.
TEST_F(BadMessageTest, ALongNameIsCutBeforeEachRecordHasIt) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("long", 1)).ok());
  Request request;
  v1::RecordBatch& batch = Batch(request);
  batch.set_metric_names(0, std::string(1 << 20, 'n'));
  while (batch.value_size() < 50000) {
    batch.add_step(1);
    batch.add_epoch(1);
    batch.add_metric(0);
    batch.add_value(1);
  }
  request.mutable_records()->set_lease_id(worker.Started().lease_id());
  ASSERT_TRUE(worker.Send(request));
  const auto kept = worker.Next(ScriptedWorker::Case::kKept);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->kept().sequence(), 1u);
}

TEST_F(BadMessageTest, AnEndThatMakesNoSenseIsABugOfItsAttempt) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("poison", 10)).ok());
  for (const BadMessage& bad : BadEnds()) {
    const uint64_t lease = worker.Started().lease_id();
    Request request;
    bad.make(request);
    request.mutable_finished()->set_lease_id(lease);
    ASSERT_TRUE(worker.Send(request));
    const v1::Settled settled = worker.Settled();
    EXPECT_EQ(settled.lease_id(), lease);
    EXPECT_FALSE(settled.accepted());
    EXPECT_EQ(settled.reason(), bad.why);
  }
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_FAILED);
}

TEST_F(BadMessageTest, WhatCanBeMendedOfALeaseIsMended) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("mended", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  Request beat;
  beat.mutable_heartbeat()->add_held()->set_lease_id(lease);
  beat.mutable_heartbeat()->mutable_held(0)->set_step(-1);
  ASSERT_TRUE(worker.Send(beat));
  Request finish = ScriptedWorker::Finish(lease, 0);
  finish.mutable_finished()->mutable_outcome()->set_environment(std::string(5 << 20, ' '));
  ASSERT_TRUE(worker.Send(finish));

  EXPECT_TRUE(worker.Settled().accepted());

  const v1::Member member = Member("s1c0r0");
  EXPECT_EQ(member.outcome().environment(), "{}");
  EXPECT_EQ(member.outcome().message(), "[environment left out: above 1 MiB]");
}

TEST_F(BadMessageTest, AnIdentityThatIsNoHashExcludesTheWorkerFromTheSweepAlone) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("odd", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  Request hello;
  hello.mutable_started()->set_lease_id(lease);
  hello.mutable_started()->set_data_identity(std::string(500, 'a'));
  ASSERT_TRUE(worker.Send(hello));
  const auto stop = worker.Next(ScriptedWorker::Case::kStop);
  ASSERT_TRUE(stop.has_value());
  EXPECT_THAT(stop->stop().reason(), testing::HasSubstr("box has other data"));
  ASSERT_TRUE(Submit(SmallSweep("other", 1)).ok());
  EXPECT_EQ(worker.Started().member(), "s2c0r0");
}

TEST_F(BadMessageTest, AWorkerOfVersion01IsServed) {
  ScriptedWorker worker(*workers_);
  Request request = RegisterAs("old", 7);
  (void)RegisterAsOld(request);
  ASSERT_TRUE(worker.Send(request));
  ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kWelcome).has_value());
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::ListWorkersResponse answer;
  ASSERT_TRUE(people_->ListWorkers(&context, {}, &answer).ok());
  ASSERT_EQ(answer.workers_size(), 1);
  const v1::Inventory& inventory = answer.workers(0).inventory();
  EXPECT_EQ(inventory.slots_size(), 2);
  EXPECT_EQ(inventory.offers_size(), 2);
  EXPECT_EQ(inventory.offers(1).hardware_class(), "nvidia-t4");
  EXPECT_EQ(inventory.devices(0).unit(), "GPU-1 GPU-2");
  v1::Sweep sweep = SmallSweep("a", 2);
  sweep.add_stacks("torch-2.11-cpu");  // Without a stack it would be written for today's settings.
  ASSERT_TRUE(Submit(sweep).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

TEST_F(BadMessageTest, ANodeOfManyGpusRegisters) {
  ScriptedWorker worker(*workers_);
  Request request = RegisterAs("node", 7);
  v1::Inventory& inventory = InventoryOf(request);
  for (uint32_t i = 1; i <= 64; ++i) {
    inventory.add_devices()->set_unit(fmt::format("GPU-01234567-89ab-cdef-0123-{:012}", i));
    inventory.mutable_slots(0)->add_devices(i);
  }
  inventory.mutable_slots(0)->mutable_devices()->SwapElements(0, 64);
  inventory.mutable_slots(0)->mutable_devices()->RemoveLast();
  ASSERT_TRUE(worker.Send(request));
  EXPECT_TRUE(worker.Next(ScriptedWorker::Case::kWelcome).has_value());
}

}  // namespace
}  // namespace noisefloor::test
