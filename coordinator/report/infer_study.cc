#include "coordinator/report/infer_study.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/base/status.h"
#include "coordinator/analysis/hardware.h"
#include "coordinator/analysis/prediction_matrix.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Absent;
using analysis::Estimate;
using analysis::PredictionMatrix;

using Cells = std::map<uint32_t, const CellInput*>;

Cells CellsOf(const StudyInput& input) {
  Cells cells;
  for (const CellInput& cell : input.cells) cells[cell.index] = &cell;
  return cells;
}

// A member that is evaluated here, with the one that trained its weights.
struct Pair {
  const MemberInput* here = nullptr;
  const MemberInput* trained = nullptr;  // Null: not known.
  const InferLink* link = nullptr;
};

// Whether two of these trainings, of one plan, have a draw in common: then they are no independent
// draws. What is held in the only block belongs to the question, but where nothing seeded is free.
bool ShareDraws(std::span<const MemberInput* const> trained, const Cells& cells) {
  std::set<uint32_t> blocks;
  bool seeded_free = false;
  for (const MemberInput* member : trained) {
    const CellInput& cell = *cells.at(member->cell);
    blocks.insert(cell.block);
    for (const auto& [source, state] : cell.sources) {
      seeded_free = seeded_free || (!IsPhysical(source) && state == SourceState::kFree &&
                                    !cell.idle.contains(source));
    }
  }
  const bool held_counts = blocks.size() > 1 || !seeded_free;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsPhysical(source)) continue;
    std::set<Lane> lanes;
    size_t drawn = 0;
    for (const MemberInput* member : trained) {
      const CellInput& cell = *cells.at(member->cell);
      const auto state = cell.sources.find(source);
      const auto lane = member->lanes.find(source);
      if (state == cell.sources.end() || lane == member->lanes.end()) continue;
      const bool held = state->second == SourceState::kFixed && held_counts;
      if (cell.idle.contains(source) || (!held && state->second != SourceState::kFree)) continue;
      ++drawn;
      lanes.insert(lane->second);
    }
    if (lanes.size() < drawn) return true;
  }
  return false;
}

void DropInterval(Estimate& estimate) {
  if (!estimate.low && !estimate.high) return;
  estimate.low.reset();
  estimate.high.reset();
  estimate.note = "the weights share draws, so that no interval holds";
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// One row under construction.
class RowOfPairs {
 public:
  // `cells`: of the trainings.
  RowOfPairs(const EvaluationSet& set, const Cells& cells, InferRow& row,
             std::vector<std::string>& warnings)
      : set_(set),
        cells_(cells),
        row_(row),
        warnings_(warnings),
        here_(static_cast<int64_t>(set.labels.size()), std::max(1, set.classes)),
        trained_(here_) {}

  void Add(const Pair& pair) {
    ++row_.members;
    if (pair.here->state != MemberState::kDone) return;
    ++row_.done;
    if (!seen_.insert(pair.link->weights).second) return;  // Copies are no further draw.
    if (pair.trained != nullptr) trainings_.push_back(pair.trained);
    PredictionMatrix answers(here_.examples(), here_.classes());
    if (!Read(*pair.here, answers)) return;
    accuracy_.push_back(analysis::Accuracy(answers.Row(0), set_.labels));
    if (pair.trained == nullptr || !Read(*pair.trained, answers)) return;
    NF_CHECK(here_.AddAnswers(answers.Row(0)).ok() && trained_.AddAnswers(answers.Row(1)).ok());
    row_.identical += SameBits(pair.here->predictions.values(), pair.trained->predictions.values());
  }

  void Finish() {
    row_.weights = here_.members();
    row_.accuracy = analysis::MeanEstimate(accuracy_, "fraction");
    analysis::CutInterval(row_.accuracy, 0, 1);
    row_.share_draws = ShareDraws(trainings_, cells_);
    if (row_.share_draws) DropInterval(row_.accuracy);
    if (row_.weights == 0) {
      const std::string why = row_.train_hardware.empty()
                                  ? "of weights of a file it is not known what trained them"
                                  : "no pair of predictions is there";
      row_.churn = row_.accuracy_difference = Absent("fraction", 0, why);
      return;
    }
    std::vector<double> before;
    std::vector<double> after;
    for (int64_t m = 0; m < here_.members(); ++m) {
      before.push_back(analysis::Accuracy(trained_.Row(m), set_.labels));
      after.push_back(analysis::Accuracy(here_.Row(m), set_.labels));
    }
    row_.accuracy_difference = analysis::PairedDifference(before, after, "fraction");
    row_.churn = analysis::PairedChurn(trained_, here_);
    for (const ExampleGroups& groups : set_.groups) AddGroups(groups);
    if (!row_.share_draws) return;
    for (Estimate* one : {&row_.accuracy_difference, &row_.churn}) DropInterval(*one);
    for (InferGroup& group : row_.groups) DropInterval(group.churn);
  }

 private:
  // A row of answers more; false, with a warning, where there is none of this test set.
  bool Read(const MemberInput& member, PredictionMatrix& answers) {
    const absl::Status added = member.predictions.empty()
                                   ? MakeError(absl::StatusCode::kNotFound, "it has no predictions")
                                   : answers.AddLogits(member.predictions.values());
    if (!added.ok()) warnings_.push_back(member.id + ": " + Message(added) + ": left out.");
    return added.ok();
  }

  void AddGroups(const ExampleGroups& groups) {
    for (size_t g = 0; g < groups.values.size(); ++g) {
      std::vector<int64_t> examples;
      for (size_t x = 0; x < groups.of_example.size(); ++x) {
        if (groups.of_example[x] == static_cast<int32_t>(g)) {
          examples.push_back(static_cast<int64_t>(x));
        }
      }
      if (examples.empty()) continue;
      row_.groups.push_back({groups.column, groups.values[g],
                             std::ssize(examples) / AnswersToOne(set_),
                             analysis::PairedChurn(trained_.SelectExamples(examples),
                                                   here_.SelectExamples(examples))});
    }
  }

  const EvaluationSet& set_;
  const Cells& cells_;
  InferRow& row_;
  std::vector<std::string>& warnings_;
  PredictionMatrix here_;
  PredictionMatrix trained_;
  std::vector<const MemberInput*> trainings_;  // Of its different weights.
  std::vector<double> accuracy_;
  std::set<std::string> seen_;
};

bool IsElsewhere(const InferRow& row) {
  return !row.train_hardware.empty() &&
         (row.train_hardware != row.infer_hardware || row.train_stack != row.infer_stack);
}

std::string WayOf(const InferRow& row) {
  std::string way = fmt::format("from {} to {}", HardwareName(row.train_hardware),
                                HardwareName(row.infer_hardware));
  if (row.train_stack != row.infer_stack) {
    way += fmt::format(" ({} to {})", row.train_stack, row.infer_stack);
  }
  return way;
}

// One sentence for each setting: the card of its matrix.
void AddHeadlines(InferStudy& study) {
  std::map<std::string, std::vector<const InferRow*>> elsewhere;
  std::vector<std::string> order;
  for (const InferRow& row : study.rows) {
    if (!IsElsewhere(row) || !row.churn.value) continue;
    const auto [at, is_new] = elsewhere.try_emplace(SettingOfRow(row));
    if (is_new) order.push_back(at->first);
    at->second.push_back(&row);
  }
  for (const std::string& setting : order) {
    const std::vector<const InferRow*>& rows = elsewhere.at(setting);
    int64_t pairs = 0;
    int64_t identical = 0;
    bool share_draws = false;
    std::vector<double> churns;
    for (const InferRow* row : rows) {
      pairs += row->weights;
      identical += row->identical;
      share_draws = share_draws || row->share_draws;
      churns.push_back(*row->churn.value);
    }
    if (identical == pairs) {
      study.headlines.push_back(
          fmt::format("{}: evaluated elsewhere than where they were trained, weights answer alike "
                      "to the last bit, in all {}.",
                      setting, Counted(pairs, "pair")));
      continue;
    }
    const auto [fewest, most] = std::ranges::minmax_element(rows, {}, &InferRow::weights);
    const std::string n =
        (*fewest)->weights == (*most)->weights
            ? fmt::format("n = {} different weights", (*most)->weights)
            : fmt::format("n = {} to {} different weights", (*fewest)->weights, (*most)->weights);
    // Of several ways their mean: which of them is the largest is chance, too.
    const std::string what =
        rows.size() == 1
            ? fmt::format("evaluated {}, weights change {} of their answers ({}",
                          WayOf(*rows.front()), WithInterval(rows.front()->churn), n)
            : fmt::format(
                  "evaluated elsewhere in {} ways, weights change {} of their answers on "
                  "average, {} to {} by way ({} each way",
                  rows.size(), Percent(analysis::MeanOf(churns), 2),
                  Percent(std::ranges::min(churns), 2), Percent(std::ranges::max(churns), 2), n);
    study.headlines.push_back(fmt::format("{}: {}{}). Bits are equal in {} of {}.", setting, what,
                                          share_draws ? ", some of which share draws" : "",
                                          identical, Counted(pairs, "pair")));
  }
  if (study.headlines.empty()) {
    study.headlines.push_back(
        "No weights are evaluated elsewhere than where they were trained: nothing to compare yet.");
  }
}

}  // namespace

std::string SettingOfRow(const InferRow& row) {
  return row.axes_label.empty() ? row.plan : row.plan + ", " + row.axes_label;
}

InferStudy BuildInfer(const StudyInput& here, const StudyInput& trained,
                      std::span<const InferLink> links) {
  NF_CHECK(links.size() == here.members.size());
  InferStudy study;
  study.title = fmt::format("{} ({})", here.sweep.name, here.sweep.id);
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string,
                         std::string, size_t>;
  std::map<Key, std::vector<Pair>> rows;
  std::vector<Key> order;
  const Cells cells = CellsOf(here);
  AxisNames axes;
  for (const CellInput& cell : here.cells) axes.Add(cell);
  const Cells cells_trained = CellsOf(trained);
  for (size_t m = 0; m < here.members.size(); ++m) {
    const CellInput& cell = *cells.at(here.members[m].cell);
    const bool known = links[m].trained && links[m].file.empty();
    Pair pair{&here.members[m], nullptr, &links[m]};
    Key key{cell.plan, axes.LabelOf(cell), "", "", cell.hardware, cell.stack, cell.evaluation};
    if (known) {
      pair.trained = &trained.members[*links[m].trained];
      const CellInput& of = *cells_trained.at(pair.trained->cell);
      std::get<2>(key) = of.hardware;
      std::get<3>(key) = of.stack;
    }
    const auto [at, is_new] = rows.try_emplace(key);
    if (is_new) order.push_back(key);
    at->second.push_back(pair);
  }
  for (const Key& key : order) {
    InferRow& row = study.rows.emplace_back();
    size_t set = 0;
    std::tie(row.plan, row.axes_label, row.train_hardware, row.train_stack, row.infer_hardware,
             row.infer_stack, set) = key;
    RowOfPairs pairs(here.evaluations[set], cells_trained, row, study.warnings);
    for (const Pair& pair : rows.at(key)) pairs.Add(pair);
    pairs.Finish();
  }
  AddHeadlines(study);
  return study;
}

}  // namespace noisefloor::report
