// A small sweep and what happens to it, as the writes that the scheduler makes.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/specification_template.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::sample {

using scheduler::Write;

inline const std::string kIdentity(64, '9');

inline absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(1700000000 + seconds); }

// Two learning rates x control and algo, on one class, three replicates: 4 cells, 12 members.
inline sweep::Sweep Content() {
  sweep::Sweep sweep;
  sweep.name = "two-rates";
  sweep.seed = 18446744073709551615ull;
  sweep.schema = IdentityOf(*OwnSchema());
  sweep.base = OwnSchema()->Defaults();
  PutSetting(sweep.base, "data.test_examples", int64_t{6});
  sweep.axes = {{{{"train.optimizer.learning_rate", {0.05, 0.5}}}}};
  sweep.plans = {{"control", *sweep::BuiltInPlan("control")},
                 {"algo", *sweep::BuiltInPlan("algo")}};
  sweep.hardware = {"cpu-test-avx2"};
  sweep.stacks = {""};
  sweep.replicates = 3;
  sweep.notes = "first \"look\"";
  sweep.tags = {{"team", "noise"}, {"urgent", ""}};
  return sweep;
}

inline scheduler::KeepSweep Keep(uint64_t id = 1) {
  scheduler::KeepSweep write;
  write.sweep = SweepId{id};
  write.content = Content();
  write.cells = sweep::Expand(write.content);
  write.specification_sha256 = Sha256Hex(sweep::CanonicalText(write.content));
  write.request_id = "request-" + std::to_string(id);
  write.at = At(0);
  return write;
}

inline scheduler::KeepWorker Worker(uint64_t id = 1) {
  scheduler::KeepWorker write;
  write.worker = WorkerId{id};
  write.name = "box-" + std::to_string(id);
  write.identity = 0xFFFFFFFFFFFFFF00ull + id;
  write.inventory = R"({"devices":[{"unit":"cpu of box-)" + std::to_string(id) +
                    R"(","model":"Test 9000"}],"offers":[)"
                    R"({"hardware_class":"cpu-test-avx2","stack":"torch-2.11","fingerprint":"f"},)"
                    R"({"hardware_class":"cpu-test-sse","stack":"torch-2.11","fingerprint":"f"}],)"
                    R"("slots":[{"devices":[0],"cores":1,"offers":[0,1]},)"
                    R"({"devices":[0],"cores":1,"offers":[0,1]}],)"
                    R"("withheld":[{"what":"GPU-9","hardware_class":"nvidia-t4","stack":"",)"
                    R"("reason":"it burns"}]})";
  write.version = "0.1.0";
  write.seen = At(1);
  return write;
}

inline MemberId Member(uint32_t cell, uint32_t replicate) { return {SweepId{1}, cell, replicate}; }

inline scheduler::PinCell Pin(uint32_t cell) {
  return {SweepId{1}, cell, "cpu-test-avx2", "torch-2.11", "fingerprint-1", "build-1"};
}

// The specification of a member of the cell as its lease has it.
inline Training SpecificationOf(MemberId member) {
  const sweep::Sweep content = Content();
  const sweep::Cell cell = sweep::Expand(content).at(member.cell);
  return sweep::MemberTraining(content, cell, member.replicate, "cpu-test-avx2", "torch-2.11",
                               kIdentity);
}

inline scheduler::KeepSpecification Specify(uint32_t cell) {
  const sweep::Sweep content = Content();
  const auto shared = SpecificationTemplate::Of(
      SpecificationOf(Member(cell, 0)), sweep::Expand(content).at(cell).rules, content.seed);
  return {SweepId{1}, cell, shared.text()};
}

inline scheduler::GrantLease Grant(uint64_t lease, MemberId member, uint32_t attempt = 1) {
  return {LeaseId{lease},
          member,
          attempt,
          WorkerId{1},
          TrainingToJson(SpecificationOf(member)),
          At(2),
          static_cast<uint32_t>(lease % 2),
          "cpu of box-1"};
}

inline scheduler::KeepRecords Records(uint64_t lease, MemberId member, uint64_t sequence) {
  scheduler::KeepRecords write{LeaseId{lease}, member, 1, {}};
  write.batch.sequence = sequence;
  const int64_t step = static_cast<int64_t>(sequence) * 10;
  write.batch.records = {{step, 0.5, "train_loss", 2.5},
                         {step, 0.5, "test_top1", std::numeric_limits<double>::quiet_NaN()},
                         {step, 0.5, "test_loss", std::numeric_limits<double>::infinity()},
                         {step, 0.5, "test_loss", -std::numeric_limits<double>::infinity()}};
  return write;
}

inline ingest::AttemptOutcome Outcome() {
  ingest::AttemptOutcome outcome;
  outcome.kind = Outcome::Kind::kDone;
  outcome.hashes = {{"init", std::string(64, 'a')},
                    {"weights", std::string(64, 'b')},
                    {"weights_at/1", std::string(64, 'c')}};
  outcome.metrics = {{"top1", 0.75}, {"loss", std::numeric_limits<double>::quiet_NaN()}};
  outcome.per_class_accuracy = {0.5, 1.0};
  outcome.environment = R"({"cpu":{"model":"Test 9000"}})";
  outcome.train_seconds = 47;
  outcome.data_identity = kIdentity;
  outcome.record_batches = 1;
  outcome.artifacts = {{"predictions", "predictions.npy", std::string(64, 'd'), 100},
                       {"evaluation_images", "images.npy", std::string(64, 'e'), 200}};
  return outcome;
}

inline scheduler::KeepOutcome Finish(uint64_t lease, MemberId member, uint32_t attempt = 1) {
  return {LeaseId{lease}, member, attempt, Outcome(), true, "", At(60)};
}

// One member done at its second attempt, one leased, one failed, one cancelled, others waiting.
inline std::vector<Write> Story() {
  std::vector<Write> writes = {Keep(), Worker(1),  Worker(2), Pin(0),
                               Pin(1), Specify(0), Specify(1)};
  writes.push_back(scheduler::PinIdentity{SweepId{1}, "fashion-mnist-sample", kIdentity});
  writes.push_back(Grant(1, Member(0, 0)));
  writes.push_back(scheduler::SetMemberState{Member(0, 0), MemberState::kLeased, 1, 0});
  writes.push_back(Records(1, Member(0, 0), 1));
  writes.push_back(scheduler::DropLease{LeaseId{1}, CauseClass::kLostWorker, "silent", At(20)});
  writes.push_back(Grant(2, Member(0, 0), 2));
  writes.push_back(Records(2, Member(0, 0), 1));
  writes.push_back(Finish(2, Member(0, 0), 2));
  writes.push_back(scheduler::DropLease{LeaseId{2}, CauseClass::kNone, "", At(60)});
  writes.push_back(scheduler::SetMemberState{Member(0, 0), MemberState::kDone, 2, 0});
  writes.push_back(Grant(3, Member(1, 2)));
  writes.push_back(scheduler::SetMemberState{Member(1, 2), MemberState::kLeased, 1, 0});
  writes.push_back(Records(3, Member(1, 2), 1));
  writes.push_back(Records(3, Member(1, 2), 2));
  writes.push_back(Grant(4, Member(1, 1)));
  scheduler::KeepOutcome failed = Finish(4, Member(1, 1));
  failed.outcome = {};
  failed.outcome.cause = CauseClass::kBug;
  failed.outcome.message = "exit code 15";
  failed.accepted = false;
  failed.reason = "it failed";
  writes.push_back(failed);
  writes.push_back(scheduler::DropLease{LeaseId{4}, CauseClass::kBug, "exit code 15", At(61)});
  writes.push_back(scheduler::SetMemberState{Member(1, 1), MemberState::kFailed, 1, 0});
  writes.push_back(scheduler::SetMemberState{Member(3, 0), MemberState::kCancelled, 0, 0});
  writes.push_back(scheduler::SetMemberState{Member(3, 1), MemberState::kWaiting, 4, 4});
  writes.push_back(
      scheduler::AppendEvent{SweepId{1}, {}, "submitted", "12 members", At(0), EventId{1}});
  writes.push_back(scheduler::AppendEvent{SweepId{1}, Member(0, 0), "done", "s1c0r0 done on box-1",
                                          At(60), EventId{2}});
  writes.push_back(
      scheduler::AppendEvent{{}, {}, "quarantined", "box-2 waits", At(61), EventId{3}});
  return writes;
}

}  // namespace noisefloor::sample
