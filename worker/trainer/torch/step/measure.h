// What determinism costs: two arms take the same training steps in turn, in one process, and each
// step is timed. One arm is as the noise plan says, the other has all physical sources held still.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/steps.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/step/reporter.h"
#include "worker/trainer/torch/step/train_report.h"

namespace noisefloor::trainer {

// Borrowed for the time of the measurement.
struct MeasureInput {
  const Specification& specification;
  const Streams& streams;
  const SwitchPlan& switches;       // Of the plan.
  std::vector<at::Device> devices;  // The first is timed: it has what all of them wait for.
  const Clock& clock;
};

struct MeasureReport {
  Ending ending = Ending::kDone;
  int64_t steps = 0;          // Of all arms, timed or not.
  int64_t skipped_steps = 0;  // Of those, with fp16: a gradient was not finite.
  double timed_seconds = 0;   // By the clock, of both arms.
  double loss = 0;            // ToldLoss, of the last steps.
  // "init"; "deterministic/weights", "plan/weights": parameters and buffers behind the last timed
  // step, or that whose loss is not finite. Equal ones: nothing that is measured changed a bit.
  std::map<std::string, std::string> hashes;
  // {"device", "profiled_steps", "arms": {NAME: [[kernel, launches, seconds]]}, "primitives":
  // {NAME: the same}, "error"}: launches and seconds are of all profiled steps together.
  Json kernels;
};

// Places in the list of arms, [deterministic, plan], of the round's steps in their order: uniform,
// by word `round` of the stream StreamOf("measure.rounds") of the seed of `data_order`. Rounds
// count from 0, those of the warm-up first.
std::array<size_t, kMeasuredArms> RoundOrder(uint64_t seed, int64_t round);

// Of the losses of the two arms the deterministic one, unless only the plan's is not finite.
double ToldLoss(double deterministic, double plan);

// Records, in the order in which the steps are taken, "deterministic/wall_seconds" and
// "plan/wall_seconds", on a GPU also ".../device_seconds", with the number of the timed round, from
// 1, as their step; on a GPU whose NVML says so about ten times also "gpu/sm_mhz", "gpu/memory_mhz"
// and "gpu/throttle_reasons", a number of bits. Internal when a switch does not read back as asked.
absl::StatusOr<MeasureReport> Measure(const MeasureInput& input, Reporter& reporter);

}  // namespace noisefloor::trainer
