// What determinism costs, as one value: the result of a sweep of kind `measure`.
//
// Two arms take the same training steps in turn, in one process: one as the noise plan says, one
// with the physical sources held still ("deterministic"). Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::report {

// The arms, as trainers call them.
inline constexpr std::string_view kDeterministicArm = "deterministic";
inline constexpr std::string_view kPlanArm = "plan";

// The runs as the plan says that one deterministic run is held against: as many replicates as the
// literature has (Zhuang and others 2022).
inline constexpr int64_t kNoisyRuns = 10;

// What an arm did by name, mean of a step.
struct CostKernel {
  std::string name;
  double launches = 0;
  double seconds = 0;
  double share = 0;  // Of the time of all kernels of the arm.
};

// The timed steps of one member, by round.
struct CostSamples {
  std::string member;
  std::vector<int64_t> rounds;
  std::vector<double> deterministic;  // Wall seconds.
  std::vector<double> plan;
  std::vector<int64_t> device_rounds;  // On a GPU those that its events timed in both arms.
  std::vector<double> deterministic_device;
  std::vector<double> plan_device;
};

// One cell: a network on a class and a stack under a plan.
struct CostRow {
  uint32_t cell = 0;
  std::string network;   // "resnet50"
  std::string settings;  // The point of the axes without the network; "" without.
  std::string hardware;
  std::string stack;
  std::string plan;
  int64_t members = 0;  // Planned.
  int64_t done = 0;
  int64_t diverged = 0;
  double deterministic_seconds = 0;  // Median of a step, over all rounds; nan: none.
  double plan_seconds = 0;
  analysis::Estimate ratio;         // Deterministic to plan, by the clock.
  analysis::Estimate device_ratio;  // The same by the GPU's events.
  std::string bits;                 // Both arms end in: "equal", "different"; "" = not known.
  // Why determinism costs nothing here by construction; "" = it may cost something.
  std::string vacuous;
  std::optional<int64_t> pays_from;                           // See PaysFrom; of the ratio.
  std::map<std::string, std::vector<CostKernel>> kernels;     // By arm; the longest first.
  std::map<std::string, std::vector<CostKernel>> primitives;  // Of oneDNN, likewise.
  std::vector<CostSamples> samples;
};

struct CostStudy {
  std::string title;  // "determinism-cost (s3)"
  std::string notes;  // Of the sweep: what was found elsewhere.
  int64_t steps = 0;  // That were asked for, of each arm.
  std::vector<std::string> headlines;
  std::vector<CostRow> rows;  // Ordered by cell.
  std::vector<std::string> warnings;
};

// The fewest runs as the plan says that together take longer than one deterministic run: beyond as
// many, a question that a single deterministic run answers is answered sooner by it. At least 2,
// since one noisy run says nothing of its own noise. Absent without a ratio.
std::optional<int64_t> PaysFrom(const analysis::Estimate& ratio);

// "1.072 [1.051, 1.094]"; "-" when absent.
std::string RatioText(const analysis::Estimate& ratio);

// `kernels`: the file of that kind of each member, as text, in the order of the input; "" = none.
// Never fails: what cannot be told is absent or a warning.
CostStudy BuildCost(const StudyInput& input, const std::vector<std::string>& kernels);

}  // namespace noisefloor::report
