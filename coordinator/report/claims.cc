#include "coordinator/report/claims.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/contrast_words.h"
#include "coordinator/report/shift_tests.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

constexpr double kShareOfShifts = 2.0 / 3;  // Of the level.

// A test with the places of what the correction tells.
struct Test {
  double p = 1;
  std::optional<double>* p_holm = nullptr;
  bool* shown = nullptr;
};

std::vector<Test> ShiftsOf(std::vector<SettingTest>& settings) {
  std::vector<Test> tests;
  for (SettingTest& setting : settings) {
    ShiftClaim& shift = setting.shift;
    if (shift.p && shift.note.empty()) tests.push_back({*shift.p, &shift.p_holm, &shift.shown});
  }
  return tests;
}

std::vector<Test> DifferencesOf(Study& study) {
  std::vector<Test> tests;
  for (Contrast& contrast : study.contrasts) {
    for (FigureContrast& figure : contrast.figures) {
      if (!figure.p || contrast.under_trained) continue;
      tests.push_back({*figure.p, &figure.p_holm, &figure.shown});
    }
  }
  return tests;
}

// Of which shifts are tested.
int64_t FactorsOf(const Study& study) {
  const bool hardware = !std::ranges::all_of(study.hardware, &Comparison::mixes_stacks);
  return static_cast<int64_t>(hardware) + !study.stacks.empty();
}

void Correct(Study& study) {
  std::vector<Test> tests;
  std::vector<std::optional<double>> p;
  std::vector<double> weights;
  const auto add = [&](const std::vector<Test>& some, double share) {
    for (const Test& test : some) {
      tests.push_back(test);
      p.emplace_back(test.p);
      weights.push_back(share / static_cast<double>(some.size()));
    }
  };
  const double of_factor =
      kShareOfShifts / static_cast<double>(std::max<int64_t>(1, FactorsOf(study)));
  add(ShiftsOf(study.hardware_tests), of_factor);
  add(ShiftsOf(study.stack_tests), of_factor);
  add(DifferencesOf(study), 1 - kShareOfShifts);
  const std::vector<std::optional<double>> adjusted = analysis::Holm(p, weights);
  for (size_t k = 0; k < tests.size(); ++k) {
    *tests[k].p_holm = adjusted[k];
    *tests[k].shown = *adjusted[k] <= analysis::kLevel;
  }
}

// Of each two of several sides. One family for the study: were each plan one of its own, that many
// would each claim falsely in 5 %. Where there are but two sides, the test of all is the one that
// is corrected.
void CorrectTwoSides(Study& study) {
  std::vector<ShiftClaim*> family;
  std::vector<std::optional<double>> p;
  const auto add = [&](const std::vector<SettingTest>& of_all, std::vector<Comparison>& of_two) {
    for (Comparison& comparison : of_two) {
      ShiftClaim& shift = comparison.shift;
      if (!shift.p || !shift.note.empty()) continue;
      if (comparison.setting_test && IsOneOfSeveral(of_all[*comparison.setting_test])) {
        family.push_back(&shift);
        p.push_back(shift.p);
      } else {
        shift.p_holm = shift.p;
        shift.family = OverTests(1);
      }
    }
  };
  add(study.hardware_tests, study.hardware);
  add(study.stack_tests, study.stacks);
  const std::vector<std::optional<double>> adjusted = analysis::Holm(p);
  for (size_t k = 0; k < family.size(); ++k) {
    family[k]->p_holm = adjusted[k];
    family[k]->family =
        Counted(static_cast<int64_t>(family.size()), "comparison") + " of the study";
  }
}

}  // namespace

double LevelOfShifts(const Study& study) {
  const bool contrasts = std::ranges::any_of(study.contrasts, [](const Contrast& contrast) {
    return !contrast.under_trained &&
           std::ranges::any_of(contrast.figures,
                               [](const FigureContrast& figure) { return figure.p.has_value(); });
  });
  return analysis::kLevel * (contrasts ? kShareOfShifts : 1) /
         static_cast<double>(std::max<int64_t>(1, FactorsOf(study)));
}

void CorrectClaims(Study& study) {
  Correct(study);
  CorrectTwoSides(study);
  const int64_t tests = TestsOf(study);
  const std::string family = OverTests(tests);
  const auto say = [&](std::vector<SettingTest>& of_all, std::vector<Comparison>& of_two) {
    for (SettingTest& test : of_all) {
      test.shift.family = family;
      test.text = TextOf(test);
    }
    for (Comparison& comparison : of_two) {
      if (comparison.setting_test) HoldToAll(of_all[*comparison.setting_test], comparison);
      comparison.text = TextOf(comparison);
    }
  };
  say(study.hardware_tests, study.hardware);
  say(study.stack_tests, study.stacks);
  for (Contrast& contrast : study.contrasts) contrast.text = TextOf(contrast, tests);
}

int64_t TestsOf(const Study& study) {
  int64_t tests = 0;
  for (const auto* const settings : {&study.hardware_tests, &study.stack_tests}) {
    for (const SettingTest& setting : *settings) tests += setting.shift.p_holm.has_value();
  }
  for (const Contrast& contrast : study.contrasts) {
    for (const FigureContrast& figure : contrast.figures) tests += figure.p_holm.has_value();
  }
  return tests;
}

}  // namespace noisefloor::report
