#include "coordinator/report/determinism_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

#include "coordinator/analysis/paired_ratio.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {

namespace {

using analysis::Estimate;
using Json = nlohmann::json;

constexpr std::string_view kModel = "model.name";
// Bits of nvmlClocksThrottleReasons: a cap on power, a slow-down of the hardware, heat (two), a
// power brake.
constexpr uint64_t kThrottled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

const std::string* FindSettingOf(const StudyInput& input, const CellInput& cell,
                                 std::string_view path) {
  for (const AxisSetting& axis : cell.axes) {
    if (axis.path == path) return &axis.value;
  }
  const auto setting = std::ranges::find(input.sweep.settings, path, &SettingInput::path);
  return setting == input.sweep.settings.end() ? nullptr : &setting->value;
}

std::string SettingsOf(const CellInput& cell) {
  std::string text;
  for (const AxisSetting& axis : cell.axes) {
    if (axis.path == kModel) continue;
    const std::string name = axis.path.substr(axis.path.rfind('.') + 1);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, axis.value);
  }
  return text;
}

// Only sources that are free and act can make the arms differ.
std::string WhyVacuous(const CellInput& cell) {
  std::string why;
  for (const NoiseSource source :
       {NoiseSource::kKernels, NoiseSource::kAutotune, NoiseSource::kReduceOrder}) {
    const auto state = cell.sources.find(source);
    if (state == cell.sources.end() || state->second != SourceState::kFree) continue;
    const auto idle = cell.idle.find(source);
    if (idle == cell.idle.end()) return "";
    if (why.find(idle->second) == std::string::npos)
      why += (why.empty() ? "" : "; ") + idle->second;
  }
  return why.empty() ? "the plan frees no physical source: both arms are the same" : why;
}

std::map<int64_t, double> ByRound(const MemberInput& member, std::string_view arm,
                                  std::string_view what) {
  std::map<int64_t, double> values;
  const auto curve = member.curves.find(fmt::format("{}/{}", arm, what));
  if (curve == member.curves.end()) return values;
  for (const CurvePoint& point : curve->second) values[point.step] = point.value;
  return values;
}

// Rounds that both arms have told.
CostSamples SamplesOf(const MemberInput& member) {
  CostSamples samples;
  samples.member = member.id;
  const auto plan = ByRound(member, kPlanArm, "wall_seconds");
  const auto device = ByRound(member, kDeterministicArm, "device_seconds");
  const auto plan_device = ByRound(member, kPlanArm, "device_seconds");
  for (const auto& [round, seconds] : ByRound(member, kDeterministicArm, "wall_seconds")) {
    const auto other = plan.find(round);
    if (other == plan.end()) continue;
    samples.rounds.push_back(round);
    samples.deterministic.push_back(seconds);
    samples.plan.push_back(other->second);
    if (!device.contains(round) || !plan_device.contains(round)) continue;
    samples.device_rounds.push_back(round);
    samples.deterministic_device.push_back(device.at(round));
    samples.plan_device.push_back(plan_device.at(round));
  }
  return samples;
}

// Of one member over its rounds; of several over the members, which differ by more than rounds do.
Estimate RatioOf(const std::vector<CostSamples>& samples, std::vector<double> CostSamples::*above,
                 std::vector<double> CostSamples::*below) {
  if (samples.empty()) return analysis::Absent("ratio", 0, "no member is done");
  if (samples.size() == 1) {
    return analysis::PairedRatio(samples[0].*above, samples[0].*below);
  }
  std::vector<double> ratios;
  for (const CostSamples& one : samples) {
    const Estimate ratio = analysis::PairedRatio(one.*above, one.*below);
    if (ratio.value) ratios.push_back(*ratio.value);
  }
  return analysis::RatioOverRuns(ratios);
}

double MedianStep(const std::vector<CostSamples>& samples, std::vector<double> CostSamples::*of) {
  std::vector<double> all;
  for (const CostSamples& one : samples) all.insert(all.end(), (one.*of).begin(), (one.*of).end());
  return analysis::MedianOf(all);
}

std::string BitsOf(const MemberInput& member) {
  const std::string& deterministic = member.hashes.deterministic_weights;
  const std::string& plan = member.hashes.plan_weights;
  if (deterministic.empty() || plan.empty()) return "";
  return deterministic == plan ? "equal" : "different";
}

// Sums of launches and seconds, by arm and name.
using KernelSums = std::map<std::string, std::map<std::string, std::pair<double, double>>>;

void AddKernels(const Json& arms, KernelSums& sums) {
  for (const auto& [arm, kernels] : arms.items()) {
    for (const Json& kernel : kernels) {
      auto& sum = sums[arm][kernel.at(0).get<std::string>()];
      sum.first += kernel.at(1).get<double>();
      sum.second += kernel.at(2).get<double>();
    }
  }
}

std::vector<CostKernel> PerStep(const std::map<std::string, std::pair<double, double>>& sums,
                                double steps) {
  double all = 0;
  for (const auto& [name, sum] : sums) all += sum.second;
  std::vector<CostKernel> kernels;
  for (const auto& [name, sum] : sums) {
    kernels.push_back(
        {name, sum.first / steps, sum.second / steps, all > 0 ? sum.second / all : 0});
  }
  std::ranges::stable_sort(kernels, std::ranges::greater(), &CostKernel::seconds);
  return kernels;
}

// The files of a cell's members together.
struct KernelFiles {
  KernelSums kernels;
  KernelSums primitives;
  double steps = 0;
  std::string error;  // Of the last one: why its profile is not whole; "" = it is.

  // False when the text is no such file; then nothing is added.
  bool Add(const std::string& text) {
    try {
      const Json json = Json::parse(text);
      KernelFiles added = *this;
      added.steps += json.at("profiled_steps").get<double>();
      AddKernels(json.at("arms"), added.kernels);
      AddKernels(json.at("primitives"), added.primitives);
      added.error = json.value("error", "");
      *this = std::move(added);
      return true;
    } catch (const Json::exception&) {
      return false;
    }
  }
};

class Rows {
 public:
  Rows(const StudyInput& input, const std::vector<std::string>& kernels, CostStudy& study)
      : input_(input), kernels_(kernels), study_(study) {}

  void Add(const CellInput& cell) {
    CostRow row;
    row.cell = cell.index;
    const std::string* network = FindSettingOf(input_, cell, kModel);
    row.network = network == nullptr ? "" : *network;
    row.settings = SettingsOf(cell);
    row.hardware = cell.hardware;
    row.stack = cell.stack;
    row.plan = cell.plan;
    row.vacuous = WhyVacuous(cell);
    KernelFiles files;
    for (size_t m = 0; m < input_.members.size(); ++m) {
      if (input_.members[m].cell == cell.index) AddMember(m, row, files);
    }
    for (const auto& [arm, sums] : files.kernels) row.kernels[arm] = PerStep(sums, files.steps);
    for (const auto& [arm, sums] : files.primitives) {
      row.primitives[arm] = PerStep(sums, files.steps);
    }
    row.deterministic_seconds = MedianStep(row.samples, &CostSamples::deterministic);
    row.plan_seconds = MedianStep(row.samples, &CostSamples::plan);
    row.ratio = RatioOf(row.samples, &CostSamples::deterministic, &CostSamples::plan);
    row.device_ratio =
        RatioOf(row.samples, &CostSamples::deterministic_device, &CostSamples::plan_device);
    row.pays_from = PaysFrom(row.ratio);
    WarnOf(row);
    study_.rows.push_back(std::move(row));
  }

 private:
  void AddMember(size_t place, CostRow& row, KernelFiles& files) {
    const MemberInput& member = input_.members[place];
    ++row.members;
    if (member.state == MemberState::kDiverged) ++row.diverged;
    if (member.state != MemberState::kDone) return;
    ++row.done;
    row.samples.push_back(SamplesOf(member));
    const std::string bits = BitsOf(member);
    if (!bits.empty()) row.bits = row.bits.empty() || row.bits == bits ? bits : "different";
    WarnOfThrottling(member);
    const std::string& text = place < kernels_.size() ? kernels_[place] : "";
    if (text.empty()) return;
    if (!files.Add(text)) {
      study_.warnings.push_back(member.id + ": its kernels are not what a trainer writes");
    } else if (!files.error.empty()) {
      study_.warnings.push_back(member.id + ": not all of its kernels are named: " + files.error);
    }
  }

  void WarnOfThrottling(const MemberInput& member) {
    const auto reasons = member.curves.find("gpu/throttle_reasons");
    if (reasons == member.curves.end()) return;
    const auto throttled = std::ranges::count_if(reasons->second, [](const CurvePoint& point) {
      return (static_cast<uint64_t>(point.value) & kThrottled) != 0;
    });
    if (throttled == 0) return;
    study_.warnings.push_back(fmt::format(
        "{}: its GPU was throttled (power, heat or hardware) in {} of {} samples of its clocks",
        member.id, throttled, reasons->second.size()));
  }

  void WarnOf(const CostRow& row) {
    if (row.diverged > 0) {
      study_.warnings.push_back(
          fmt::format("{} on {}: {} diverged; times of what is not finite are not shown",
                      row.network, HardwareName(row.hardware), Counted(row.diverged, "member")));
    }
    if (!row.vacuous.empty() && row.bits == "different") {
      study_.warnings.push_back(
          fmt::format("{} on {}: the arms should be the same ({}) and end in different bits",
                      row.network, HardwareName(row.hardware), row.vacuous));
    }
  }

  const StudyInput& input_;
  const std::vector<std::string>& kernels_;
  CostStudy& study_;
};

std::string WhereOf(const CostRow& row) {
  return fmt::format("{}{}{} on {}", row.network, row.settings.empty() ? "" : ", ", row.settings,
                     HardwareName(row.hardware));
}

// What its ratio is a mean over: rounds of one process tell nothing of another process.
std::string DrawsOf(const CostRow& row) {
  return row.samples.size() > 1
             ? fmt::format("n = {} processes", row.ratio.n)
             : fmt::format("n = {} of one process", Counted(row.ratio.n, "round"));
}

std::vector<double> RatiosOf(const std::vector<const CostRow*>& rows) {
  std::vector<double> ratios;
  for (const CostRow* row : rows) ratios.push_back(*row->ratio.value);
  return ratios;
}

// "1.500 to 2.500"
std::string RangeOf(const std::vector<double>& ratios) {
  const auto [least, most] = std::ranges::minmax(ratios);
  return fmt::format("{:.3f} to {:.3f}", least, most);
}

double GeometricMean(const std::vector<double>& ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  return std::exp(analysis::MeanOf(logs));
}

// Of several rows the ends have no interval: it would be that of one row, not of the largest of
// many.
void SayRatio(const std::vector<const CostRow*>& told, CostStudy& study) {
  if (told.empty()) return;
  const std::vector<double> ratios = RatiosOf(told);
  const double mean = GeometricMean(ratios);
  const bool single = told.size() == 1;
  if (single) {
    const CostRow& row = *told[0];
    study.headlines.push_back(
        fmt::format("A deterministic step takes {} times as long ({}; {}) as one as the plan says.",
                    RatioText(row.ratio), WhereOf(row), DrawsOf(row)));
  } else {
    study.headlines.push_back(fmt::format(
        "A deterministic step takes {:.3f} times as long as one as the plan says, the geometric "
        "mean of {} rows ({}).",
        mean, told.size(), RangeOf(ratios)));
  }
  study.headlines.push_back(fmt::format(
      "At this {} one deterministic run takes {} of the time of {} runs as the plan says. It "
      "answers for one draw of the seeded sources, without the noise of the machine; other draws "
      "must be trained in either way.",
      single ? "ratio" : "mean", Percent(mean / kNoisyRuns, 0), kNoisyRuns));
}

void AddHeadlines(CostStudy& study) {
  std::vector<const CostRow*> told;
  std::vector<const CostRow*> vacuous;
  for (const CostRow& row : study.rows) {
    if (!row.ratio.value) continue;
    (row.vacuous.empty() ? told : vacuous).push_back(&row);
  }
  SayRatio(told, study);
  if (vacuous.empty()) return;
  const bool known = std::ranges::all_of(vacuous, [](auto* row) { return !row->bits.empty(); });
  const bool equal =
      known && std::ranges::all_of(vacuous, [](auto* row) { return row->bits == "equal"; });
  study.headlines.push_back(fmt::format(
      "Vacuous in {} of {}: there both arms do the same by construction{}, and their ratio, {}, is "
      "what the clock of this machine can tell apart.",
      Counted(static_cast<int64_t>(vacuous.size()), "row"), told.size() + vacuous.size(),
      equal ? " and end in equal bits" : "", RangeOf(RatiosOf(vacuous))));
}

}  // namespace

std::string RatioText(const Estimate& ratio) {
  if (!ratio.value) return "-";
  if (!ratio.low || !ratio.high) return fmt::format("{:.3f}", *ratio.value);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", *ratio.value, *ratio.low, *ratio.high);
}

std::optional<int64_t> PaysFrom(const Estimate& ratio) {
  if (!ratio.value || !std::isfinite(*ratio.value)) return std::nullopt;
  return std::max<int64_t>(2, static_cast<int64_t>(std::floor(*ratio.value)) + 1);
}

CostStudy BuildCost(const StudyInput& input, const std::vector<std::string>& kernels) {
  CostStudy study;
  study.title = fmt::format("{} ({})", input.sweep.name, input.sweep.id);
  study.notes = input.sweep.notes;
  for (const SettingInput& setting : input.sweep.settings) {
    if (setting.path == "measure.steps") study.steps = std::atoll(setting.value.c_str());
  }
  Rows rows(input, kernels, study);
  for (const CellInput& cell : input.cells) rows.Add(cell);
  AddHeadlines(study);
  return study;
}

}  // namespace noisefloor::report
