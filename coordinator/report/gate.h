// Is B what A is, but for a margin? Two studies as a gate for a new GPU, driver or cloud. Plain
// values. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coordinator/analysis/estimate.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::report {

using analysis::Estimate;

// How far B may be from A; fractions of the test examples, above 0.
struct Margins {
  double churn = 0.01;  // Of the churn inside a side, either way.
  double top1 = 0.005;  // Of mean top-1, either way.
  double shift = 0.01;  // Of the mean answer: churn across less the mean churn inside.
};

// Which cells of a side; "": all.
struct SideFilter {
  std::string hardware;
  std::string stack;
  std::string from;  // Where the side lies, for its name; "": nothing is said of it.
};

struct GateOptions {
  Margins margins;
  std::string plan;  // Only this one; "": all.
  SideFilter a;
  SideFilter b;
  bool same_bits = false;  // Where nothing is free, other bits are a failure.
};

// Pass: within the margin (two one-sided tests at 5 %), or, where there is no error to test by,
// equal answers in each of three draws or more. Fail: beyond it (a 95 % interval of B - A,
// corrected by Holm over all figures). Else inconclusive.
enum class Verdict : uint8_t { kPass, kFail, kInconclusive };

struct GateFigure {
  std::string figure;       // "churn", "top1", "shift"
  std::optional<double> a;  // Absent of a shift, which is between the sides.
  std::optional<double> b;
  int64_t draws_a = 0;  // Of which the figure is.
  int64_t draws_b = 0;
  Estimate difference;        // B - A, at 95 %.
  std::optional<double> low;  // Of the 90 % interval: it has to lie inside the margin.
  std::optional<double> high;
  double margin = 0;
  std::optional<double> p_equivalent;
  std::optional<double> p_beyond;
  std::optional<double> p_holm;  // Of p_beyond.
  // Of what passes by equal answers, which is no test: the largest share of draws that answer
  // otherwise, at 95 %.
  std::optional<double> most_otherwise;
  Verdict verdict = Verdict::kInconclusive;
  std::optional<int64_t> draws_to_decide;  // A side; where inconclusive.
  std::string note;                        // Why it is not decided, or what else decided it.
};

// Members that are not done (diverged, failed, cancelled, not ended) of all that there are.
struct Losses {
  int64_t a = 0;
  int64_t b = 0;
  int64_t of_a = 0;
  int64_t of_b = 0;
  // A larger share of B's: those that are left are a selection.
  bool MoreOnB() const { return b * of_a > a * of_b; }
};

// One plan at one point of the axes on one class and stack, or on the one that each side has.
struct GateSetting {
  std::string setting;  // "algo, learning_rate=0.05"
  std::string plan;
  std::vector<std::string> hardware_a;
  std::vector<std::string> hardware_b;
  int64_t draws_a = 0;  // Of the figure that has most.
  int64_t draws_b = 0;
  Losses losses;
  bool paired = false;           // Equal seeds: draw by draw.
  bool over_blocks = false;      // The draws are blocks.
  bool under_trained_a = false;  // Nothing is judged by it.
  bool under_trained_b = false;
  std::vector<std::string> held;  // Sources; unless over blocks, all is at one draw of these.
  std::vector<std::string> other_draws;  // Those of which A and B have other draws.
  std::vector<GateFigure> figures;
};

// Where nothing is free: the bits are equal, or they are not.
struct GateBits {
  std::string setting;
  bool other_seeds = false;  // Then there are no pairs.
  int64_t pairs = 0;         // Of equal seeds that both sides have done.
  int64_t identical = 0;     // Equal weights and logits.
  int64_t unproved = 0;      // No difference is seen, but a hash is missing.
  Losses losses;
  Estimate churn;  // Between the sides of a pair, mean over pairs.
};

struct Gate {
  std::string name_a;  // "first-study (s1) of baseline/, cpu-amd-avx2"
  std::string name_b;
  GateOptions options;
  std::vector<GateSetting> settings;
  std::vector<GateBits> bits;
  // Members of a side are still to come: no figure passes or fails, and the gate does not pass. It
  // fails where, with same_bits, bits differ: what is to come does not make these equal.
  bool interim = false;
  std::vector<std::string> only_a;      // Settings that B has not: then it does not pass.
  std::vector<std::string> not_judged;  // Settings of both whose members share draws: likewise.
  std::vector<std::string> notes;       // What differs besides.
  Verdict verdict = Verdict::kInconclusive;
  std::vector<std::string> findings;  // In words; the verdict first.
};

// Cells meet by plan, point of the axes, hardware class and stack; where each side has one class or
// one stack, whatever these are. Pass when all figures pass, nothing of A is missing on B, all that
// both have was judged and B lost no larger share of its members; fail when any figure fails.
// InvalidInput where nothing meets, a plan frees other sources on B, or the sides were tested on
// other examples.
absl::StatusOr<Gate> CompareStudies(const StudyInput& a, const StudyInput& b,
                                    const GateOptions& options);

std::string_view Word(Verdict verdict);  // "pass", "fail", "inconclusive"

}  // namespace noisefloor::report
