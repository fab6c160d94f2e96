// A member on its way through attempts that are cut off, and what it leaves behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/files/file_system.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/specification.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/torch/step/checkpointer.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/train_report.h"

namespace noisefloor::trainer {

constexpr int64_t kPerEpoch = 5;
constexpr int64_t kEpochs = 3;
constexpr int64_t kSteps = kPerEpoch * kEpochs;
constexpr int64_t kNever = 1 << 20;

// All sources fixed but augmentation, dropout and order, which draw; 3 epochs of 5 steps, the last
// one smaller; a test at the end of each.
Specification Small(const std::string& model);
void FreeSource(Specification& spec, NoiseSource source);

// How one attempt is ended, and what it keeps until then.
struct Attempt {
  int64_t stop_after = kNever;  // Steps; asked to stop, as by SIGTERM.
  int64_t die_after = kNever;   // Steps; killed, when the last checkpoint is whole.
  absl::Duration every = absl::InfiniteDuration();  // From one checkpoint to the next.
};

// What it leaves behind. Of the events only what is compared: records and artifacts.
struct Left {
  Ending ending = Ending::kInterrupted;
  std::vector<std::string> told;
  std::map<std::string, std::string> hashes;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> files;  // SHA-256 by name.
  TrainReport report;
  Json cost;  // Of its checkpoints.
};

// The clock of a training that takes a second before each look whether to stop, and else no time;
// or so much for each glance at the clock by the thread that trains.
class StepClock final : public Clock {
 public:
  absl::Time Now() const override { return SystemClock().Now(); }
  absl::Duration Steady() const override {
    if (std::this_thread::get_id() == trains_) ++glances_;
    return absl::Seconds(steps_.load()) + glances_.load() * glance_;
  }
  void Step() { ++steps_; }
  void set_glance(absl::Duration glance) { glance_ = glance; }

 private:
  const std::thread::id trains_ = std::this_thread::get_id();
  absl::Duration glance_ = absl::ZeroDuration();
  std::atomic<int64_t> steps_ = 0;  // The thread that writes checkpoints looks, too.
  mutable std::atomic<int64_t> glances_ = 0;
};

// With checkpoints in a folder of its own.
class Member {
 public:
  explicit Member(Specification spec);
  Member(Specification spec, std::string checkpoints, FileSystem& files);

  Left Run(const Attempt& attempt);

  const std::string& checkpoints() const { return checkpoints_; }
  StepClock& clock() { return clock_; }
  // Of its checkpoints, the oldest first.
  std::vector<std::string> Folders() const;
  // What its next attempts' checkpoints must be of.
  void set_identity(CheckpointIdentity identity) { identity_ = std::move(identity); }

 private:
  void Train(const Attempt& attempt, Results& results, Reporter& reporter, Left& left);

  const std::string checkpoints_;
  FileSystem& files_;
  TrainerRequest request_;
  CheckpointIdentity identity_ = {{"member", "m"}};
  StepClock clock_;
  int64_t begin_ = 0;  // Steps done where the next attempt goes on, if its checkpoint is whole.
};

Left Undisturbed(const Specification& spec);
// Asked to stop after each of these steps in turn, then to its end.
Left Interrupted(const Specification& spec, const std::vector<int64_t>& stops);
// Bit for bit.
void ExpectSame(const Left& left, const Left& undisturbed);

}  // namespace noisefloor::trainer
