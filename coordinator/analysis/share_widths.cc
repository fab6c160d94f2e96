#include "coordinator/analysis/share_widths.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <vector>

#include "common/base/philox.h"

namespace noisefloor::analysis {
namespace {

constexpr int kStudies = 41;
constexpr double kAlone = 0.02;
constexpr double kOfTwo = 0.03;

class Normals {
 public:
  explicit Normals(uint64_t seed) : stream_(seed, StreamOf("share widths")) {}
  double Next() {  // Box and Muller 1958.
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  double Uniform() { return (stream_.Word(next_++) + 0.5) / 4294967296.0; }

  PhiloxStream stream_;
  uint64_t next_ = 0;
};

// V_u of each set u of sources, whole 1.
std::vector<double> Components(int sources) {
  const SourceSet all = (SourceSet{1} << sources) - 1;
  std::vector<double> components(all + 1, 0);
  double given = 0;
  for (SourceSet u = 1; u < all; ++u) {
    if (std::popcount(u) == 1) components[u] = kAlone;
    if (std::popcount(u) == 2) components[u] = kOfTwo;
    given += components[u];
  }
  components[all] = 1 - given;
  return components;
}

// What each member of a block answers: for every set of sources the draw that its levels have.
std::vector<std::vector<double>> AnswersOf(const DesignBlock& block,
                                           const std::vector<double>& components, int directions,
                                           Normals& normals) {
  std::vector<std::vector<double>> answers(block.levels.size(),
                                           std::vector<double>(static_cast<size_t>(directions), 0));
  for (SourceSet u = 1; u < components.size(); ++u) {
    if (components[u] <= 0) continue;
    const double sd = std::sqrt(components[u] / directions);
    std::map<std::vector<uint32_t>, std::vector<double>> draws;
    for (size_t m = 0; m < block.levels.size(); ++m) {
      std::vector<uint32_t> levels;
      for (size_t source = 0; source < block.levels[m].size(); ++source) {
        if ((u >> source & 1) != 0) levels.push_back(block.levels[m][source]);
      }
      const auto [draw, is_new] = draws.try_emplace(std::move(levels));
      for (int k = 0; is_new && k < directions; ++k) draw->second.push_back(sd * normals.Next());
      for (size_t k = 0; k < answers[m].size(); ++k) answers[m][k] += draw->second[k];
    }
  }
  return answers;
}

double HalfSquaredDistance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum / 2;
}

Decomposition Simulated(std::span<const DesignBlock> design, int sources, int directions,
                        Normals& normals) {
  const std::vector<double> components = Components(sources);
  std::vector<DesignBlock> blocks;
  for (const DesignBlock& planned : design) {
    const auto answers = AnswersOf(planned, components, directions, normals);
    const auto members = static_cast<int64_t>(answers.size());
    DesignBlock& block = blocks.emplace_back(DesignBlock{planned.levels, PairMatrix(members)});
    for (int64_t i = 0; i < members; ++i) {
      for (int64_t j = i + 1; j < members; ++j) {
        block.distances.Set(
            i, j,
            HalfSquaredDistance(answers[static_cast<size_t>(i)], answers[static_cast<size_t>(j)]));
      }
    }
  }
  return Decompose(blocks, sources, "fraction");
}

std::optional<double> MedianOfWidths(std::vector<double>& widths) {
  if (widths.empty()) return std::nullopt;
  const auto middle = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2);
  std::ranges::nth_element(widths, middle);
  return *middle;
}

}  // namespace

ShareWidths ExpectedShareWidths(std::span<const DesignBlock> design, int sources, int directions) {
  if (sources < 2) return {};
  Normals normals(static_cast<uint64_t>(directions));
  std::vector<double> first_order;
  std::vector<double> total;
  for (int study = 0; study < kStudies; ++study) {
    for (const Index& index : Simulated(design, sources, directions, normals).indices) {
      if (!index.share.low) continue;
      const double half = (*index.share.high - *index.share.low) / 2;
      if (index.kind == IndexKind::kFirstOrder) first_order.push_back(half);
      if (index.kind == IndexKind::kTotal) total.push_back(half);
    }
  }
  return {MedianOfWidths(first_order), MedianOfWidths(total)};
}

}  // namespace noisefloor::analysis
