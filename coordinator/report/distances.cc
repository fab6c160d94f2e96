#include "coordinator/report/distances.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"

#include "coordinator/report/pairing.h"

namespace noisefloor::report {
namespace {

using analysis::Distances;
using Members = std::vector<const WeightsView*>;

// How many parameters are in no distance.
void TellWithoutEffect(const Members& members, Distances& found) {
  int64_t most = 0;
  for (const WeightsView* weights : members) most = std::max(most, weights->facts().without_effect);
  if (most == 0) return;
  for (analysis::Estimate* estimate : {&found.raw, &found.normalised, &found.cosine}) {
    if (!estimate->value) continue;
    analysis::AddNote(
        *estimate,
        fmt::format("without {} parameters that no output of the training depends on", most));
  }
}

// What is known under the key, or what `make` finds of those members and says whether it could read
// all of; weights of memory have no content to be known by. `memory` may be null.
template <typename Make>
Distances KnownOr(const Members& members, const std::vector<std::string>& key,
                  DistanceMemory* memory, const Make& make) {
  const bool are_known = std::ranges::none_of(members, [](const WeightsView* weights) {
    return !weights->empty() && weights->facts().content.empty();
  });
  if (!are_known) memory = nullptr;
  if (memory != nullptr) {
    if (std::optional<Distances> known = memory->Find(key)) return *std::move(known);
  }
  Distances found;
  const bool whole = make(found);
  TellWithoutEffect(members, found);
  if (memory != nullptr && whole) memory->Keep(key, found);
  return found;
}

struct Opened {
  std::vector<SharedWeights> held;
  std::vector<analysis::WeightPieces> parameters;
  std::vector<analysis::WeightPieces> all;  // Parameters, then buffers.
  bool whole = true;                        // Else some could not be read; another time they may.
};

Opened Open(const Members& members) {
  Opened opened;
  for (const WeightsView* weights : members) {
    const SharedWeights& of = opened.held.emplace_back(weights->Opened());
    analysis::WeightPieces& of_parameters = opened.parameters.emplace_back();
    analysis::WeightPieces& of_all = opened.all.emplace_back();
    if (of == nullptr) {
      opened.whole = false;
      continue;
    }
    of_parameters = of_all = of->parameters;
    of_all.insert(of_all.end(), of->buffers.begin(), of->buffers.end());
  }
  return opened;
}

// One look at some members, whose files are opened when something of them is not known.
class Look {
 public:
  Look(const Members& members, DistanceMemory* memory) : members_(members), memory_(memory) {}

  Distances Of(const char* what, std::vector<analysis::WeightPieces> Opened::*pieces) {
    std::vector<std::string> key = {what};
    for (const WeightsView* weights : members_) key.push_back(weights->facts().content);
    return KnownOr(members_, key, memory_, [&](Distances& found) {
      if (!opened_) opened_ = Open(members_);
      found = analysis::MeanDistances((*opened_).*pieces);
      return opened_->whole;
    });
  }
  Distances OfParameters() { return Of("parameters", &Opened::parameters); }
  Distances OfAll() { return Of("all", &Opened::all); }

 private:
  const Members& members_;
  DistanceMemory* const memory_;
  std::optional<Opened> opened_;
};

}  // namespace

CellDistances DistancesOf(const Members& members, DistanceMemory* memory) {
  Look look(members, memory);
  Distances of_parameters = look.OfParameters();
  return {std::move(of_parameters), look.OfAll()};
}

Distances ParameterDistancesOf(const Members& members, DistanceMemory* memory) {
  return Look(members, memory).OfParameters();
}

analysis::Estimate PairedDistance(const std::vector<std::vector<WeightsPair>>& blocks, bool each,
                                  DistanceMemory* memory) {
  Members everyone;
  std::vector<std::string> key = {each ? "pairs" : "pairs of blocks"};
  for (const std::vector<WeightsPair>& block : blocks) {
    key.emplace_back("block");
    for (const WeightsPair& pair : block) {
      everyone.insert(everyone.end(), {pair.a, pair.b});
      key.insert(key.end(), {pair.a->facts().content, pair.b->facts().content});
    }
  }
  Distances known = KnownOr(everyone, key, memory, [&](Distances& found) {
    std::vector<std::vector<double>> values;
    bool whole = true;
    for (const std::vector<WeightsPair>& block : blocks) {
      std::vector<double>& of_block = values.emplace_back();
      for (const WeightsPair& pair : block) {
        const Opened opened = Open({pair.a, pair.b});
        whole = whole && opened.whole;
        const Distances between = analysis::MeanDistances(opened.parameters);
        if (between.normalised.value) of_block.push_back(*between.normalised.value);
      }
    }
    found.normalised = MeanOverDraws(values, each, "norm", 2);
    return whole;
  });
  return std::move(known.normalised);
}

}  // namespace noisefloor::report
