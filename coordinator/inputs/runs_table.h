// The table of runs that others trained: runs.csv. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/noise_source.h"
#include "common/base/status.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::inputs {

struct RunRow {
  int64_t line = 0;  // Of the table, from 1.
  std::string name;
  std::string predictions;  // A path from the folder; "" none.
  std::string hardware = "any";
  std::string stack = "unknown";
  std::string plan = "runs";
  uint32_t block = 0;
  std::map<NoiseSource, std::string> sources;  // What the table says of each; never "".
  std::map<std::string, double> metrics;       // "top1", "top5", "loss"
  std::vector<report::AxisSetting> axes;       // Of every other column, in their order.
  std::string weights_sha256;
  std::string unit;
  double seconds = 0;
};

struct RunTable {
  std::string path;  // For messages.
  std::string text;
  std::vector<RunRow> rows;  // One at least, every name once.
};

// Of `folder`/runs.csv. InvalidArgument as PATH:LINE: what is wrong.
absl::StatusOr<RunTable> ReadRunTable(const std::string& folder);

}  // namespace noisefloor::inputs
