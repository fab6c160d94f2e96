// The part of a Study that is about single test examples; names as in its JSON. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/report/study_comparison.h"

namespace noisefloor::report {

using analysis::Estimate;

struct Picture {
  int32_t height = 0;
  int32_t width = 0;
  int32_t channels = 0;
  std::string pixels;  // Base64 of {height, width, channels} bytes; "" when not kept.
};
struct DivergentExample {
  int64_t example = 0;  // Its place among the labels: of decisions that of one of these.
  int32_t label = 0;
  std::string label_name;
  double selected_by = 0;     // Disagreement over pairs within cells, selecting half.
  Estimate disagreement;      // The same on the other half: not biased by selection.
  Estimate accuracy;          // Of the other half, on this example.
  std::vector<int32_t> said;  // Class by each of DivergentExamples::members; -1 undefined (nan).
  Picture picture;
};
// A class of the data set, or a group of its examples, among those that members disagree on most.
struct DivergentGroup {
  std::string column;  // Of groups; "" of classes.
  std::string name;
  int64_t examples = 0;
  int64_t divergent = 0;  // Of those.
  Estimate ratio;         // Its share of the divergent / its share of all; n: divergent examples.
  // Exact, that the group does not matter to who is divergent; absent while members are to come.
  std::optional<double> p;
  std::optional<double> p_holm;  // Over all classes and groups of the study.
};
struct DivergentExamples {
  std::vector<std::string> members;  // Order of `said`: by cell and replicate.
  std::vector<uint32_t> cells;
  std::vector<bool> selecting;  // Of the selecting half?
  std::vector<DivergentExample> examples;
  // Of as many examples as these, chosen and measured by others in turn; n: replicates.
  Estimate subset_disagreement;
  Estimate subset_accuracy;
  // Examples that all members together disagree on most; of decisions the examples they are on.
  int64_t by_all = 0;
  std::vector<DivergentGroup> groups;  // Among those; by column, in the order of its values.
  std::string note;                    // The rule of selection, in words.
  std::string groups_text;             // Which are more often among them; "": nothing to say.
};

// An example whose answer changes with the side of a comparison.
struct SensitiveExample {
  int64_t example = 0;  // As of a divergent one.
  int32_t label = 0;
  std::string label_name;
  int64_t flips = 0;            // Draws whose answers on the two sides differ.
  Estimate rate;                // Of flips, shrunk towards what is usual among the examples.
  std::string said_a;           // The answer that side A gives most often; "undefined".
  std::string said_b;           // Likewise B.
  std::optional<double> p;      // Exact, that the side does not matter to it; absent: not tested.
  std::optional<double> p_fdr;  // Adjusted for discoveries among the tested ones.
};
// Which test examples a comparison of hardware, or of stacks, answers otherwise.
struct SensitiveExamples {
  Factor factor = Factor::kHardware;
  std::string label;  // Of the comparison.
  std::string side_a;
  std::string side_b;
  int64_t draws = 0;
  int64_t examples = 0;         // Where answers are decisions, so many of these; flipped likewise.
  int64_t flipped = 0;          // In one draw or more.
  std::optional<double> alpha;  // The Beta that the rates of flips are spread as; absent: no more
  std::optional<double> beta;   // than one rate for all would make them.
  int64_t tested = 0;           // So many flip often enough; 0: none was to be.
  std::vector<int64_t> found;   // p_fdr <= 5 %: these follow the side; rising.
  std::vector<SensitiveExample> most;  // By p, then by flips; at most 20.
  std::string text;                    // In words.
};

}  // namespace noisefloor::report
