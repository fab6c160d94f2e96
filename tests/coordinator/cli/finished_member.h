// A member that has ended, with the hashes that fake-trainer makes of its seeds.
#pragma once

#include <string>

#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "noisefloor/v1/member.pb.h"
#include "worker/daemon/noop_trainer.h"
#include "worker/devices/cpu.h"

namespace noisefloor::cli {

inline std::string ClassHere() { return CpuClasses(ReadCpuFacts()).at(0); }

inline Specification Small() {
  Specification specification;
  specification.train.epochs = 2;
  specification.train.shards = 4;
  specification.hardware_class = ClassHere();
  specification.stack = "fake";
  return specification;
}

inline v1::Member Finished(const std::string& id, const Specification& specification) {
  v1::Member member;
  member.set_id(id);
  member.set_sweep(1);
  member.set_state(v1::MEMBER_STATE_DONE);
  member.set_attempt(1);
  member.set_hardware(specification.hardware_class);
  member.set_stack(specification.stack);
  member.set_specification(SpecificationToJson(specification));
  member.set_specification_sha256(Sha256Hex(member.specification()));
  const Outcome outcome = NoopOutcome(specification, "");
  for (const auto& [name, hash] : outcome.hashes) {
    (*member.mutable_outcome()->mutable_hashes())[name] = hash;
  }
  for (const auto& [name, value] : outcome.metrics) {
    (*member.mutable_outcome()->mutable_metrics())[name] = value;
  }
  member.mutable_outcome()->set_environment(R"({"build":"fake-build","stack":"fake"})");
  return member;
}

// The same once more, as a member of another sweep.
inline v1::Member Replayed(const std::string& id, v1::Member member) {
  member.set_id(id);
  member.set_sweep(2);
  member.set_worker("box");
  return member;
}

}  // namespace noisefloor::cli
