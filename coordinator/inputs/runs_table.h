// The table of runs that others trained: runs.csv.
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

// The column that the name of an axis was most likely meant to be; "": none is near.
std::string_view MeantColumn(std::string_view axis);

// Of `folder`/runs.csv; blanks round a cell do not count. InvalidArgument as PATH:LINE: what is
// wrong.
absl::StatusOr<RunTable> ReadRunTable(const std::string& folder);

}  // namespace noisefloor::inputs
