// How far a sweep is: one line that redraws itself on a terminal, else a plain line now and then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

struct ProgressSettings {
  bool terminal = false;
  bool all_lines = false;  // Every event's line; else none of what goes as it should.
  int width = 100;         // Columns of the terminal.
};

// Not thread-safe. Time is an argument.
class Progress {
 public:
  Progress(std::ostream& out, ProgressSettings settings) : out_(out), settings_(settings) {}
  ~Progress() { Finish(); }

  void Show(const v1::SweepSummary& sweep, const std::vector<std::string>& lines,
            const std::vector<std::string>& running, absl::Duration now);
  // A line of its own, above the one that redraws itself; on `out`, which may be another stream.
  void Note(std::ostream& out, const std::string& line);
  // Leaves the cursor at the start of an empty line.
  void Finish();

 private:
  void PrintLines(const std::vector<std::string>& lines);
  std::string Remaining(const v1::SweepSummary& sweep, absl::Duration now);

  std::ostream& out_;
  const ProgressSettings settings_;
  bool drawn_ = false;
  std::optional<double> at_first_;        // What was there when we came.
  std::optional<double> first_progress_;  // When it first moved,
  absl::Duration first_time_;             // and when that was: starting up is not the pace.
  std::map<std::string, int> repeated_;   // Lines alike, whatever their numbers.
  int plain_twentieths_ = -1;             // Last share that was printed, of 20.
};

// "[#####...............]" of 20 places.
std::string Bar(double share);

}  // namespace noisefloor::cli
