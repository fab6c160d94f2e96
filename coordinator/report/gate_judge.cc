#include "coordinator/report/gate_judge.h"

#include <optional>
#include <vector>

#include "fmt/format.h"

#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/gate_words.h"
#include "coordinator/report/interim.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// What speaks against a pass, whatever the figures of those that are done: it leaves them open.
std::string Doubt(const GateSetting& setting) {
  if (setting.under_trained_a) return "A is under-trained";
  if (!setting.other_draws.empty()) {
    return fmt::format("A and B have one draw each of {}, and not the same",
                       Listed(setting.other_draws));
  }
  return "";
}

// Holm over everything that could fail; then what each figure is.
void JudgeFigures(Gate& gate) {
  std::vector<GateFigure*> figures;
  std::vector<std::optional<double>> p;
  for (GateSetting& setting : gate.settings) {
    // All at once or none: what has all its members would be judged beside fewer figures.
    const std::string doubt = gate.interim ? kTestedOnce : Doubt(setting);
    for (GateFigure& figure : setting.figures) {
      if (doubt.empty()) {
        figures.push_back(&figure);
        p.push_back(figure.p_beyond);
        continue;
      }
      figure.verdict = Verdict::kInconclusive;
      figure.draws_to_decide.reset();
      figure.most_otherwise.reset();
      figure.note = doubt;
    }
  }
  const std::vector<std::optional<double>> adjusted = analysis::Holm(p);
  for (size_t k = 0; k < figures.size(); ++k) {
    GateFigure& figure = *figures[k];
    figure.p_holm = adjusted[k];
    if (figure.p_equivalent && *figure.p_equivalent <= analysis::kLevel) {
      figure.verdict = Verdict::kPass;
    }
    if (figure.p_holm && *figure.p_holm <= analysis::kLevel) figure.verdict = Verdict::kFail;
    if (figure.verdict != Verdict::kInconclusive) figure.draws_to_decide.reset();
  }
}

}  // namespace

void Decide(Gate& gate) {
  JudgeFigures(gate);
  bool all_pass = gate.only_a.empty() && gate.not_judged.empty() && !gate.interim;
  bool any_fails = false;
  for (const GateSetting& setting : gate.settings) {
    all_pass &= !setting.losses.MoreOnB();
    for (const GateFigure& figure : setting.figures) {
      all_pass &= figure.verdict == Verdict::kPass;
      any_fails |= figure.verdict == Verdict::kFail;
    }
  }
  for (const GateBits& bits : gate.bits) {
    all_pass &= !bits.losses.MoreOnB();
    if (!gate.options.same_bits) continue;
    any_fails |= HasOtherBits(bits);
    all_pass &= bits.pairs > 0 && bits.identical == bits.pairs;
  }
  gate.verdict = any_fails ? Verdict::kFail : all_pass ? Verdict::kPass : Verdict::kInconclusive;
}

}  // namespace noisefloor::report
