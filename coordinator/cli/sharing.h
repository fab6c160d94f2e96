// How a sweep shares the fleet: changing it, and saying it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"

#include "common/base/status.h"
#include "coordinator/cli/command.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

// What a submission may say of it.
struct SharingOptions {
  int32_t priority = 0;
  uint32_t weight = 0;  // 0: not said.
  uint32_t max_failures = 0;
  std::vector<std::string> limits;  // "CLASS=N".
  double gpu_hours = 0;

  void Describe(CLI::App& app);
};

// Of a text that is a number of hours; the message says what was expected.
CLI::Validator Hours();

// The option --limit of commands that take it, into `limits`.
void DescribeLimits(CLI::App& app, std::vector<std::string>& limits);
// What those say; `least`: 0 where a limit can be taken away.
absl::Status TakeLimits(const std::vector<std::string>& limits, uint32_t least,
                        google::protobuf::Map<std::string, uint32_t>& into);

// "priority 5; stops at 3 failed members; paused"; empty: as every sweep unless said.
std::string SharingText(const v1::SweepSummary& sweep);

// Of a sweep that was there already: what was asked for of it is not taken.
void SayWhatStays(const Context& context, const SharingOptions& asked, uint64_t sweep);

// Changes the sweep named `sweep` ("s3") as `change` says, and prints what it is then.
absl::StatusOr<int> ChangeSweep(Context& context, const std::string& sweep,
                                v1::UpdateSweepRequest change);

}  // namespace noisefloor::cli
