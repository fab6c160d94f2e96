// The coordinator's clocks in a simulated world, as its loop uses them: the wall clock at a start,
// and from then on what passes on the steady one. The wall clock jumps, forward and back.
#pragma once

#include "absl/time/time.h"

namespace noisefloor::test {

// Not thread-safe.
class Clocks {
 public:
  explicit Clocks(absl::Time wall) : wall_(wall) { Start(); }

  void Pass(absl::Duration duration) { passed_ += duration; }
  void Jump(absl::Duration by) { wall_ += by; }
  // The coordinator starts.
  void Start() {
    started_ = Wall();
    passed_at_start_ = passed_;
  }

  absl::Time Wall() const { return wall_ + passed_; }
  // What the loop steps its scheduler with.
  absl::Time Coordinator() const { return started_ + (passed_ - passed_at_start_); }
  // Never jumps; what happens in the world happens then.
  absl::Time World() const { return absl::FromUnixSeconds(1'000'000) + passed_; }

 private:
  absl::Time wall_;
  absl::Duration passed_;
  absl::Time started_;
  absl::Duration passed_at_start_;
};

}  // namespace noisefloor::test
