#include "coordinator/report/curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fmt/format.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::report {
namespace {

constexpr const char* kMetrics[] = {"test_top1", "test_top5", "test_loss", "train_loss"};

// To 7 digits, enough for a figure: only what is shown is rounded.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 6 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::optional<double> RoundedIfAny(const std::optional<double>& value) {
  return value ? std::optional(Rounded(*value)) : std::nullopt;
}

const std::vector<CurvePoint>* PointsOf(const MemberInput& member, const std::string& metric) {
  if (!HasResult(member.state)) return nullptr;
  const auto it = member.curves.find(metric);
  return it == member.curves.end() || it->second.empty() ? nullptr : &it->second;
}

// Steps with their epochs, evenly thinned; the last always stays.
std::vector<std::pair<int64_t, double>> Thin(const std::map<int64_t, double>& steps,
                                             size_t members) {
  constexpr size_t kMostValues = 40'000;
  const size_t limit = std::clamp<size_t>(kMostValues / std::max<size_t>(members, 1), 20, 300);
  std::vector<std::pair<int64_t, double>> all(steps.begin(), steps.end());
  if (all.size() <= limit) return all;
  std::vector<std::pair<int64_t, double>> thinned;
  for (size_t k = 0; k < limit; ++k) thinned.push_back(all[k * (all.size() - 1) / (limit - 1)]);
  return thinned;
}

CurveMember LineOf(const MemberInput& member, const std::vector<CurvePoint>& points,
                   const std::vector<int64_t>& steps) {
  std::map<int64_t, double> by_step;
  for (const CurvePoint& point : points) by_step[point.step] = point.value;
  CurveMember line{member.id, {}};
  for (const int64_t step : steps) {
    const auto it = by_step.find(step);
    line.values.push_back(it == by_step.end() ? std::nullopt : std::optional(it->second));
  }
  return line;
}

// Mean and spread at each step over the lines, not yet rounded, of members that are done.
// Without a spread where these share draws.
void FillBand(const std::vector<const CurveMember*>& lines, bool share, Curve& curve) {
  for (size_t k = 0; k < curve.steps.size(); ++k) {
    std::vector<double> finite;
    for (const CurveMember* line : lines) {
      if (line->values[k] && std::isfinite(*line->values[k])) finite.push_back(*line->values[k]);
    }
    const bool any = !finite.empty();
    curve.mean.push_back(any ? std::optional(Rounded(analysis::MeanOf(finite))) : std::nullopt);
    curve.sd.push_back(share || finite.size() < 2 ? std::nullopt
                                                  : std::optional(Rounded(analysis::SdOf(finite))));
    curve.n.push_back(static_cast<int64_t>(finite.size()));
  }
}

Curve BuildCurve(const Gathered& gathered, const CellFacts& cell, const std::string& metric) {
  Curve curve;
  curve.cell = cell.input->index;
  curve.metric = metric;
  std::map<int64_t, double> steps;
  for (const size_t m : cell.members) {
    const std::vector<CurvePoint>* points = PointsOf(*gathered.members[m].input, metric);
    if (points == nullptr) continue;
    for (const CurvePoint& point : *points) steps.emplace(point.step, point.epoch);
  }
  for (const auto& [step, epoch] : Thin(steps, cell.members.size())) {
    curve.steps.push_back(step);
    curve.epochs.push_back(Rounded(epoch));
  }
  std::vector<size_t> done;  // Positions in curve.members.
  for (const size_t m : cell.members) {
    const MemberInput& member = *gathered.members[m].input;
    const std::vector<CurvePoint>* points = PointsOf(member, metric);
    if (points == nullptr) continue;
    if (member.state == MemberState::kDone) done.push_back(curve.members.size());
    curve.members.push_back(LineOf(member, *points, curve.steps));
  }
  std::vector<const CurveMember*> lines;
  for (const size_t position : done) lines.push_back(&curve.members[position]);
  FillBand(lines, !cell.shared.empty(), curve);
  for (CurveMember& line : curve.members) {
    for (std::optional<double>& value : line.values) value = RoundedIfAny(value);
  }
  return curve;
}

// Members with answers in order of cell and replicate, cut to the limit.
std::vector<size_t> HeatMapMembers(const Gathered& gathered, int64_t& left_out) {
  std::vector<std::pair<std::pair<uint32_t, size_t>, size_t>> by_replicate;
  for (size_t c = 0; c < gathered.cells.size(); ++c) {
    for (const size_t m : gathered.cells[c].done) {
      if (!gathered.members[m].row) {
        ++left_out;
        continue;
      }
      by_replicate.push_back({{gathered.members[m].input->replicate, c}, m});
    }
  }
  std::sort(by_replicate.begin(), by_replicate.end());
  const size_t limit = static_cast<size_t>(kMostHeatMapMembers);
  if (by_replicate.size() > limit) {
    left_out += static_cast<int64_t>(by_replicate.size() - limit);
    by_replicate.resize(limit);
  }
  std::sort(by_replicate.begin(), by_replicate.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.second, a.first.first) < std::pair(b.first.second, b.first.first);
  });
  std::vector<size_t> members;
  for (const auto& [key, member] : by_replicate) members.push_back(member);
  return members;
}

// Inside each evaluation set; between members of different sets there is nothing to compare.
void FillHeatMap(const Gathered& gathered, const std::vector<size_t>& members, HeatMap& map) {
  map.values.assign(members.size(), std::vector<std::optional<double>>(members.size()));
  for (size_t set = 0; set < gathered.sets.size(); ++set) {
    std::vector<size_t> places;
    std::vector<size_t> of_set;
    for (size_t i = 0; i < members.size(); ++i) {
      if (gathered.members[members[i]].set != set) continue;
      places.push_back(i);
      of_set.push_back(members[i]);
    }
    if (places.empty()) continue;
    const analysis::PairMatrix churn = analysis::ChurnMatrix(*AnswersOf(gathered, of_set).matrix);
    for (size_t i = 0; i < places.size(); ++i) {
      for (size_t j = 0; j < places.size(); ++j) {
        map.values[places[i]][places[j]] =
            Rounded(churn.At(static_cast<int64_t>(i), static_cast<int64_t>(j)));
      }
    }
  }
}

}  // namespace

std::vector<Curve> BuildCurves(const Gathered& gathered) {
  std::vector<Curve> curves;
  for (const CellFacts& cell : gathered.cells) {
    for (const char* metric : kMetrics) {
      Curve curve = BuildCurve(gathered, cell, metric);
      if (!curve.steps.empty()) curves.push_back(std::move(curve));
    }
  }
  return curves;
}

HeatMap BuildHeatMap(const Gathered& gathered) {
  HeatMap map;
  const std::vector<size_t> members = HeatMapMembers(gathered, map.left_out);
  for (const size_t m : members) {
    map.members.push_back(gathered.members[m].input->id);
    map.cells.push_back(gathered.members[m].input->cell);
  }
  if (map.left_out > 0) {
    map.note = fmt::format("{} members are not shown: without predictions, or beyond the first {}.",
                           map.left_out, kMostHeatMapMembers);
  }
  if (gathered.sets.size() > 1) {
    map.note += map.note.empty() ? "" : " ";
    map.note += "Members are compared inside each evaluation set only.";
  }
  FillHeatMap(gathered, members, map);
  return map;
}

}  // namespace noisefloor::report
