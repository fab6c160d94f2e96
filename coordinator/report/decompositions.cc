#include "coordinator/report/decompositions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/decomposition.h"
#include "coordinator/analysis/distance.h"
#include "coordinator/analysis/softmax.h"
#include "coordinator/report/design.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Absent;
using analysis::DesignBlock;
using analysis::IndexKind;
using analysis::PairMatrix;
using analysis::SourceSet;

// What is equal in all trainings that are taken apart together: all but the draws.
struct Setting {
  std::vector<AxisSetting> axes;
  std::string hardware;
  std::string stack;
  size_t evaluation = 0;
  std::vector<NoiseSource> physical;  // Free.
  std::vector<NoiseSource> off;
  friend auto operator<=>(const Setting&, const Setting&) = default;
};

Setting SettingOfCell(const CellFacts& cell) {
  return {cell.input->axes,       cell.input->hardware, cell.input->stack,
          cell.input->evaluation, cell.free_physical,   cell.off};
}

// Of the seeded sources that act.
std::map<NoiseSource, uint32_t> DrawsOf(const MemberInput& member, const CellInput& cell) {
  std::map<NoiseSource, uint32_t> draws;
  for (const auto& [source, lane] : member.lanes) {
    if (!IsPhysical(source) && !cell.idle.contains(source)) draws[source] = lane.number;
  }
  return draws;
}

std::vector<Training> TrainingsOf(const Gathered& gathered,
                                  const std::vector<const CellFacts*>& cells) {
  std::vector<Training> trainings;
  for (const CellFacts* cell : cells) {
    for (const size_t m : cell->done) {
      const MemberFacts& facts = gathered.members[m];
      if (!facts.row || !std::isfinite(facts.accuracy) || facts.input->lanes.empty()) continue;
      trainings.push_back({m, cell->input->block, DrawsOf(*facts.input, *cell->input)});
    }
  }
  return trainings;
}

int64_t KeepFirstOfBlocks(std::vector<Training>& trainings) {
  std::map<uint32_t, size_t> kept;
  return static_cast<int64_t>(std::erase_if(trainings, [&](const Training& training) {
    return ++kept[training.block] > kMostDecomposed;
  }));
}

// Logits of one setting: more take longer than all else of a study.
constexpr size_t kMostLogits = size_t{1} << 25;

// Of weights, and of two trainings of a block: what 100 of 25 million parameters have.
constexpr size_t kMostProducts = size_t{1} << 38;

// Trainings, and what keeps open what is looked at of them: what was read once can be again.
struct Having {
  std::vector<Training> trainings;
  std::vector<SharedWeights> opened = {};
};

// What is taken apart: its name in the JSON, the unit of its variance, those of the trainings that
// have it, and half the squared distance of every two of a block.
struct Figure {
  std::string_view name;
  const char* unit;
  Having (*having)(const Gathered&, const std::vector<Training>&);
  PairMatrix (*distances)(const Gathered&, const std::vector<size_t>&);
};

Having All(const Gathered&, const std::vector<Training>& trainings) { return {trainings}; }

PairMatrix Churns(const Gathered& gathered, const std::vector<size_t>& members) {
  return analysis::ChurnMatrix(*AnswersOf(gathered, members).matrix);
}

PairMatrix OfAccuracy(const Gathered& gathered, const std::vector<size_t>& members) {
  const std::vector<double> accuracy = ValuesOf(gathered, members, &MemberFacts::accuracy);
  PairMatrix distances(std::ssize(accuracy));
  for (size_t i = 0; i < accuracy.size(); ++i) {
    for (size_t j = i + 1; j < accuracy.size(); ++j) {
      const double difference = accuracy[i] - accuracy[j];
      distances.Set(static_cast<int64_t>(i), static_cast<int64_t>(j), difference * difference / 2);
    }
  }
  return distances;
}

size_t LogitsOf(const Gathered& gathered, const std::vector<Training>& trainings) {
  size_t logits = 0;
  for (const Training& training : trainings) {
    logits += gathered.members[training.member].input->predictions.size();
  }
  return logits;
}

// Too many are not looked at.
Having WithLogits(const Gathered& gathered, const std::vector<Training>& trainings) {
  std::vector<Training> having = trainings;
  const auto of = [&](const Training& training, auto has) {
    const MemberFacts& facts = gathered.members[training.member];
    return has(*facts.input, *gathered.sets[facts.set].input);
  };
  std::erase_if(having, [&](const Training& training) { return !of(training, HasLogits); });
  if (LogitsOf(gathered, having) > kMostLogits) return {having};
  std::erase_if(having,
                [&](const Training& training) { return of(training, FiniteLogits).empty(); });
  return {having};
}

PairMatrix OfProbabilities(const Gathered& gathered, const std::vector<size_t>& members) {
  std::vector<std::span<const float>> logits;
  for (const size_t m : members) {
    logits.push_back(gathered.members[m].input->predictions.values());
  }
  const size_t set = gathered.members[members[0]].set;
  return analysis::ProbabilityDistances(logits, gathered.sets[set].input->classes);
}

const WeightsView& WeightsOf(const Gathered& gathered, size_t member) {
  return gathered.members[member].input->weights;
}

// What the distances of every two of a block take.
size_t ProductsOf(const Gathered& gathered, const std::vector<Training>& trainings) {
  std::map<uint32_t, size_t> of_block;
  for (const Training& training : trainings) ++of_block[training.block];
  size_t parameters = 0;
  for (const Training& training : trainings) {
    parameters = std::max(parameters, WeightsOf(gathered, training.member).facts().parameters);
  }
  size_t products = 0;
  for (const auto& [block, members] : of_block) products += members * members * parameters;
  return products;
}

// Too many are not looked at.
Having WithWeights(const Gathered& gathered, const std::vector<Training>& trainings) {
  std::vector<Training> having = trainings;
  std::erase_if(having, [&](const Training& training) {
    return WeightsOf(gathered, training.member).empty();
  });
  if (ProductsOf(gathered, having) > kMostProducts) return {having};
  std::vector<SharedWeights> opened;
  std::vector<analysis::WeightPieces> weights;
  for (const Training& training : having) {
    opened.push_back(WeightsOf(gathered, training.member).Opened());
    weights.push_back(opened.back() ? opened.back()->parameters : analysis::WeightPieces());
  }
  Having usable;
  for (const analysis::UsableWeights& of : analysis::FindUsable(weights)) {
    usable.trainings.push_back(having[of.place]);
    usable.opened.push_back(opened[of.place]);
  }
  return usable;
}

PairMatrix OfWeights(const Gathered& gathered, const std::vector<size_t>& members) {
  std::vector<analysis::WeightPieces> weights;
  for (const size_t m : members) {
    weights.push_back(WeightsOf(gathered, m).Opened()->parameters);  // It is open: see Having.
  }
  return analysis::SquaredDistances(weights);
}

constexpr Figure kFigures[] = {
    {"churn", "fraction", All, Churns},
    {"accuracy", "squared fraction", All, OfAccuracy},
    {"probabilities", "squared distance", WithLogits, OfProbabilities},
    {"weights", "squared norm", WithWeights, OfWeights},
};

// Why these are not taken apart; "": they are.
std::string TooMany(const Gathered& gathered, const std::vector<Training>& trainings,
                    std::string_view figure) {
  const std::string count = Counted(std::ssize(trainings), "training");
  if (figure == "probabilities") {
    const size_t logits = LogitsOf(gathered, trainings);
    if (logits <= kMostLogits) return "";
    return fmt::format("{} have {} logits, more than {}", count, logits, kMostLogits);
  }
  if (figure != "weights") return "";
  const size_t products = ProductsOf(gathered, trainings);
  if (products <= kMostProducts) return "";
  return fmt::format("of {} and their parameters there are {} products, more than {}", count,
                     products, kMostProducts);
}

std::vector<DesignBlock> BlocksOf(const Gathered& gathered, const std::vector<Training>& trainings,
                                  const Factors& factors, const Figure& figure) {
  std::map<uint32_t, std::vector<const Training*>> by_block;
  for (const Training& training : trainings) by_block[training.block].push_back(&training);
  std::vector<DesignBlock> blocks;
  for (const auto& [number, of_block] : by_block) {
    DesignBlock& block = blocks.emplace_back();
    std::vector<size_t> members;
    for (const Training* training : of_block) {
      block.levels.push_back(LevelsOf(*training, factors, static_cast<uint32_t>(members.size())));
      members.push_back(training->member);
    }
    block.distances = figure.distances(gathered, members);
  }
  return blocks;
}

std::string_view NameOf(IndexKind kind) {
  switch (kind) {
    case IndexKind::kFirstOrder: return "first_order";
    case IndexKind::kTotal: return "total";
    case IndexKind::kInteraction: return "interaction";
    case IndexKind::kAdditive: break;
  }
  return "additive";
}

// "init alone 12 % [8, 16], with all it acts through 80 % [71, 89]"
std::string PhraseOf(const std::string& factor, const Estimate& alone, const Estimate& total) {
  std::vector<std::string> parts;
  if (alone.value) parts.push_back("alone " + WithInterval(alone));
  if (total.value) {
    parts.push_back((alone.value ? "with all it acts through " : "and all it acts through ") +
                    WithInterval(total));
  }
  return factor + " " + fmt::format("{}", fmt::join(parts, ", "));
}

std::string TextOf(const SourceDecomposition& of) {
  if (of.shares.empty()) {
    return fmt::format("The {} is not taken apart ({}): {}.", DecomposedName(of.figure), of.setting,
                       of.whole.note);
  }
  std::vector<std::string> parts;
  std::vector<std::string> unknown;
  for (const std::string& factor : of.factors) {
    const Estimate& alone = FindShare(of, "first_order", factor)->share;
    const Estimate& total = FindShare(of, "total", factor)->share;
    if (alone.value || total.value) parts.push_back(PhraseOf(factor, alone, total));
    if (!alone.value && !total.value) unknown.push_back(factor);
  }
  std::string text = fmt::format(
      "Of the {} of two trainings with nothing in common ({}; {}, {}, {}): {}.",
      DecomposedName(of.figure), WithInterval(of.whole), of.setting,
      Counted(of.members, "training"), Counted(of.blocks, "block"), fmt::join(parts, "; "));
  if (!unknown.empty()) {
    text += fmt::format(" Of {} this design identifies nothing.", Listed(unknown));
  }
  const SourceShare* additive = FindShare(of, "additive", "");
  if (additive != nullptr && additive->share.value && of.factors.size() > 1) {
    text += fmt::format(
        " What they do each by itself adds up to {}; the rest is what they do "
        "together.",
        WithInterval(additive->share));
  }
  return text;
}

std::string NameOf(const Setting& setting, const CellFacts& cell, bool several_stacks) {
  std::string name = HardwareName(setting.hardware);
  if (several_stacks) name += ", " + StackName(setting.stack);
  return cell.axes_label.empty() ? name : name + ", " + cell.axes_label;
}

// Settings that differ by what their plans free or turn off alone are told apart by these plans.
void TellApart(std::vector<SourceDecomposition>& all) {
  std::map<std::string, std::set<std::vector<std::string>>> plans_of;
  for (const SourceDecomposition& of : all) plans_of[of.setting].insert(of.plans);
  for (SourceDecomposition& of : all) {
    if (plans_of.at(of.setting).size() < 2) continue;
    of.setting += fmt::format(", {} {}", of.plans.size() == 1 ? "plan" : "plans", Listed(of.plans));
  }
}

// Fills blocks, whole and shares.
void TakeApart(const std::vector<DesignBlock>& blocks, int factors, const char* unit,
               SourceDecomposition& of) {
  const analysis::Decomposition result = analysis::Decompose(blocks, factors, unit);
  of.blocks = std::ssize(blocks);
  of.whole = result.whole;
  for (const analysis::Index& index : result.indices) {
    SourceShare& share =
        of.shares.emplace_back(SourceShare{std::string(NameOf(index.kind)), {}, index.share});
    for (size_t k = 0; k < of.factors.size(); ++k) {
      if ((index.sources >> k & 1) != 0) share.sources.push_back(of.factors[k]);
    }
  }
}

// All but their names in full and their texts.
void Add(const Gathered& gathered, const Setting& setting,
         const std::vector<const CellFacts*>& cells, std::vector<SourceDecomposition>& all) {
  std::vector<Training> trainings = TrainingsOf(gathered, cells);
  if (setting.physical.empty()) DropCopies(trainings);
  const int64_t left_out = KeepFirstOfBlocks(trainings);
  const Factors factors = FactorsOf(trainings, !setting.physical.empty());
  if (factors.count() < 2 || factors.seeded.empty() || factors.count() > analysis::kMostSources) {
    return;
  }
  SourceDecomposition facts;
  facts.setting = NameOf(setting, *cells[0], HaveSeveralStacks(gathered.cells));
  for (const CellFacts* cell : cells) {
    facts.under_trained |= cell->under_trained;
    const bool is_new = std::ranges::find(facts.plans, cell->input->plan) == facts.plans.end();
    if (is_new) facts.plans.push_back(cell->input->plan);
  }
  facts.factors = NamesOf(factors, setting.physical);
  if (factors.uncontrolled) facts.uncontrolled = facts.factors.back();
  facts.left_out = left_out;
  bool told = false;
  for (const Figure& figure : kFigures) {
    SourceDecomposition of = facts;
    of.figure = figure.name;
    const Having having = figure.having(gathered, trainings);
    of.members = std::ssize(having.trainings);
    if (of.members < 2) continue;
    if (const std::string why = TooMany(gathered, having.trainings, figure.name); !why.empty()) {
      if (!told) continue;  // Nor would it tell anything: the design identifies no share.
      of.whole = Absent(figure.unit, of.members, why);
      all.push_back(std::move(of));
      continue;
    }
    TakeApart(BlocksOf(gathered, having.trainings, factors, figure), factors.count(), figure.unit,
              of);
    const bool any = std::ranges::any_of(of.shares, [](const SourceShare& share) {
      return share.share.value && share.sources.size() == 1;
    });
    if (!any) continue;
    all.push_back(std::move(of));
    told = true;
  }
}

}  // namespace

std::string DecomposedName(std::string_view figure) {
  if (figure == "churn") return "churn";
  if (figure == "accuracy") return "variance of top-1";
  return fmt::format("variance of the {}", figure);
}

const SourceShare* FindShare(const SourceDecomposition& of, std::string_view kind,
                             const std::string& factor) {
  for (const SourceShare& share : of.shares) {
    if (share.kind == kind && (factor.empty() || share.sources == std::vector{factor})) {
      return &share;
    }
  }
  return nullptr;
}

std::vector<SourceDecomposition> BuildDecompositions(const Gathered& gathered) {
  std::map<Setting, std::vector<const CellFacts*>> settings;
  std::vector<Setting> order;
  for (const CellFacts& cell : gathered.cells) {
    const Setting setting = SettingOfCell(cell);
    std::vector<const CellFacts*>& cells = settings[setting];
    if (cells.empty()) order.push_back(setting);
    cells.push_back(&cell);
  }
  std::vector<SourceDecomposition> all;
  for (const Setting& setting : order) Add(gathered, setting, settings.at(setting), all);
  TellApart(all);
  for (SourceDecomposition& of : all) of.text = TextOf(of);
  return all;
}

}  // namespace noisefloor::report
