// A number with what is known about it: the only form in which a figure leaves the analysis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace noisefloor::analysis {

// A value. Absent is not zero: when `value` is absent `note` says in words why.
// All intervals are two-sided at 95 %.
struct Estimate {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  int64_t n = 0;                     // How many members (not pairs) stand behind it.
  std::string unit;                  // "fraction", "norm", "correlation", "ratio", "nats".
  std::string method;                // The interval's method, in words.
  std::optional<double> detectable;  // Smallest effect that this n sees: power 80 %, level 5 %.
  std::string detectable_kind;       // "difference" (in `unit`) or "ratio" (of two such values).
  std::string note;
};

// An estimate that does not exist, and why.
inline Estimate Absent(std::string unit, int64_t n, std::string note) {
  Estimate estimate;
  estimate.n = n;
  estimate.unit = std::move(unit);
  estimate.note = std::move(note);
  return estimate;
}

// Says it behind what is said; nothing: there is nothing to say.
inline void AddNote(Estimate& estimate, const std::string& note) {
  if (note.empty()) return;
  estimate.note += (estimate.note.empty() ? "" : "; ") + note;
}

// Cuts the interval to what is possible: an accuracy is in [0, 1].
inline void CutInterval(Estimate& estimate, double low, double high) {
  if (estimate.low) estimate.low = std::max(low, *estimate.low);
  if (estimate.high) estimate.high = std::min(high, *estimate.high);
}

}  // namespace noisefloor::analysis
