#include "coordinator/report/cost_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

#include "common/base/csv.h"
#include "coordinator/report/plain_page.h"
#include "coordinator/report/text_page.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {

namespace {

using analysis::Estimate;
using Json = nlohmann::ordered_json;

constexpr size_t kShownKernels = 3;  // Of each arm; JSON and CSV have all.
constexpr double kMilliseconds = 1e3;
constexpr double kMicroseconds = 1e6;

std::string Milliseconds(double seconds) {
  return std::isfinite(seconds) ? fmt::format("{:.3f}", seconds * kMilliseconds) : "-";
}

std::string NetworkOf(const CostRow& row) {
  return row.settings.empty() ? row.network : row.network + ", " + row.settings;
}

std::string Shown(std::string text, size_t most) {
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  return text;
}

void AddRatios(const CostStudy& study, TextPage& page) {
  const bool gpu = std::ranges::any_of(
      study.rows, [](const CostRow& row) { return row.device_ratio.value.has_value(); });
  std::vector<std::string> header = {"network", "class",   "stack",        "plan", "rounds",
                                     "det. ms", "plan ms", "ratio [95 %]", "bits"};
  if (gpu) header.push_back("GPU's ratio [95 %]");
  header.insert(header.end(), {fmt::format("1 : {}", kNoisyRuns), "pays from", "note"});
  TextRows rows;
  for (const CostRow& row : study.rows) {
    int64_t rounds = 0;
    for (const CostSamples& one : row.samples) rounds += static_cast<int64_t>(one.rounds.size());
    std::vector<std::string> line = {NetworkOf(row),
                                     HardwareName(row.hardware),
                                     row.stack.empty() ? "any" : row.stack,
                                     row.plan,
                                     std::to_string(rounds),
                                     Milliseconds(row.deterministic_seconds),
                                     Milliseconds(row.plan_seconds),
                                     RatioText(row.ratio),
                                     row.bits.empty() ? "-" : row.bits};
    if (gpu) line.push_back(RatioText(row.device_ratio));
    line.push_back(row.ratio.value ? Percent(*row.ratio.value / kNoisyRuns, 0) : "-");
    const bool pays = row.pays_from && row.vacuous.empty();
    line.push_back(pays ? fmt::format("{} runs", *row.pays_from) : "-");
    line.push_back(row.vacuous.empty() ? "" : "vacuous here");
    rows.push_back(std::move(line));
  }
  page.Heading("What determinism costs: a deterministic step to one as the plan says");
  if (!rows.empty()) page.Table(header, rows);
  page.Line(fmt::format(
      "det. ms, plan ms: median time of a step of each arm, over all rounds. ratio: geometric mean "
      "over rounds of the time of the deterministic step to that of the other one, so that it is "
      "not the quotient of these medians; t interval of its logarithm, over members where there "
      "are "
      "several. "
      "bits: of the weights of both arms behind the last round. 1 : {}: time of one deterministic "
      "run, of that of {} as the plan says. pays from: that many runs as the plan says take longer "
      "than one deterministic run.",
      kNoisyRuns, kNoisyRuns));
  std::set<std::string> reasons;
  for (const CostRow& row : study.rows) {
    if (!row.vacuous.empty()) reasons.insert(row.vacuous);
  }
  for (const std::string& reason : reasons) page.Line("vacuous here: " + reason + ".");
}

const CostKernel* Find(const std::vector<CostKernel>& kernels, const std::string& name) {
  const auto found = std::ranges::find(kernels, name, &CostKernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

using KernelsByArm = std::map<std::string, std::vector<CostKernel>>;

// Those that take longest in either arm, side by side.
void AddKernelRows(const CostRow& row, const KernelsByArm& kernels, TextRows& rows) {
  const auto of = [&](std::string_view arm) {
    const auto found = kernels.find(std::string(arm));
    return found == kernels.end() ? std::vector<CostKernel>() : found->second;
  };
  const std::vector<CostKernel> arms[] = {of(kDeterministicArm), of(kPlanArm)};
  std::vector<std::string> names;
  for (const auto& arm : arms) {
    for (size_t i = 0; i < std::min(kShownKernels, arm.size()); ++i) {
      if (std::ranges::find(names, arm[i].name) == names.end()) names.push_back(arm[i].name);
    }
  }
  std::string where = fmt::format("{}, {}", NetworkOf(row), HardwareName(row.hardware));
  for (const std::string& name : names) {
    std::vector<std::string> line = {where, Shown(name, 60)};
    for (const auto& arm : arms) {
      const CostKernel* kernel = Find(arm, name);
      if (kernel == nullptr) {
        line.insert(line.end(), {"-", "-", "-"});
      } else {
        line.insert(line.end(), {fmt::format("{:.0f}", kernel->launches),
                                 fmt::format("{:.0f}", kernel->seconds * kMicroseconds),
                                 Percent(kernel->share, 0)});
      }
    }
    rows.push_back(std::move(line));
    where.clear();
  }
}

void AddKernels(const CostStudy& study, KernelsByArm CostRow::*what, const std::string& title,
                TextPage& page) {
  TextRows rows;
  for (const CostRow& row : study.rows) AddKernelRows(row, row.*what, rows);
  if (rows.empty()) return;
  page.Heading(title);
  page.Table({"", "name", "det. launches", "us", "share", "plan launches", "us", "share"}, rows);
}

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }

Json ToJson(const Estimate& e) {
  return {{"value", Number(e.value)}, {"low", Number(e.low)}, {"high", Number(e.high)}, {"n", e.n},
          {"unit", e.unit},           {"method", e.method},   {"note", e.note}};
}

Json ToJson(const KernelsByArm& arms) {
  Json json = Json::object();
  for (const auto& [arm, kernels] : arms) {
    Json& list = json[arm] = Json::array();
    for (const CostKernel& kernel : kernels) {
      list.push_back({{"name", kernel.name},
                      {"launches", kernel.launches},
                      {"seconds", kernel.seconds},
                      {"share", kernel.share}});
    }
  }
  return json;
}

Json ToJson(const CostSamples& one) {
  return {{"member", one.member},
          {"rounds", one.rounds},
          {"deterministic", one.deterministic},
          {"plan", one.plan},
          {"device_rounds", one.device_rounds},
          {"deterministic_device", one.deterministic_device},
          {"plan_device", one.plan_device}};
}

Json ToJson(const CostRow& row) {
  Json samples = Json::array();
  for (const CostSamples& one : row.samples) samples.push_back(ToJson(one));
  return {{"cell", row.cell},
          {"network", row.network},
          {"settings", row.settings},
          {"hardware", row.hardware},
          {"stack", row.stack},
          {"plan", row.plan},
          {"members", row.members},
          {"done", row.done},
          {"diverged", row.diverged},
          {"deterministic_seconds", Number(row.deterministic_seconds)},
          {"plan_seconds", Number(row.plan_seconds)},
          {"ratio", ToJson(row.ratio)},
          {"device_ratio", ToJson(row.device_ratio)},
          {"bits", row.bits},
          {"vacuous", row.vacuous},
          {"pays_from", row.pays_from ? Json(*row.pays_from) : Json(nullptr)},
          {"kernels", ToJson(row.kernels)},
          {"primitives", ToJson(row.primitives)},
          {"samples", std::move(samples)}};
}

class Csv {
 public:
  Csv()
      : text_(
            "table,cell,network,settings,hardware,stack,plan,member,arm,name,round,metric,value,"
            "low,high,n,note\n") {}

  struct Place {
    std::string table;
    std::string member;
    std::string arm;
    std::string name;
    std::string round;
  };
  void Add(const CostRow& row, const Place& place, const std::string& metric, const Estimate& e) {
    text_ += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", place.table,
                         row.cell, CsvField(row.network), CsvField(row.settings),
                         CsvField(row.hardware), CsvField(row.stack), CsvField(row.plan),
                         place.member, CsvField(place.arm), CsvField(place.name), place.round,
                         metric, Text(e.value), Text(e.low), Text(e.high), e.n, CsvField(e.note));
  }
  void Add(const CostRow& row, const Place& place, const std::string& metric, double value) {
    Estimate plain;
    plain.value = value;
    plain.n = 1;
    Add(row, place, metric, plain);
  }
  std::string Take() { return std::move(text_); }

 private:
  static std::string Text(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  }
  std::string text_;
};

void AddSteps(const CostRow& row, const CostSamples& one, Csv& csv) {
  const auto add = [&](std::string_view arm, const char* metric, const std::vector<int64_t>& rounds,
                       const std::vector<double>& of) {
    for (size_t i = 0; i < of.size(); ++i) {
      csv.Add(row, {"step", one.member, std::string(arm), "", std::to_string(rounds[i])}, metric,
              of[i]);
    }
  };
  add(kDeterministicArm, "wall_seconds", one.rounds, one.deterministic);
  add(kPlanArm, "wall_seconds", one.rounds, one.plan);
  add(kDeterministicArm, "device_seconds", one.device_rounds, one.deterministic_device);
  add(kPlanArm, "device_seconds", one.device_rounds, one.plan_device);
}

void AddKernelCsv(const CostRow& row, const char* table, const KernelsByArm& arms, Csv& csv) {
  for (const auto& [arm, kernels] : arms) {
    for (const CostKernel& kernel : kernels) {
      const Csv::Place place{table, "", arm, kernel.name, ""};
      csv.Add(row, place, "launches", kernel.launches);
      csv.Add(row, place, "seconds", kernel.seconds);
      csv.Add(row, place, "share", kernel.share);
    }
  }
}

}  // namespace

std::string RenderCostTables(const CostStudy& study, const Screen& screen) {
  TextPage page(screen);
  page.Heading(study.title);
  for (const std::string& headline : study.headlines) page.Line(headline);
  AddRatios(study, page);
  AddKernels(study, &CostRow::kernels,
             "Kernels: launches, microseconds and share of a step, those of the longest time",
             page);
  AddKernels(study, &CostRow::primitives, "What oneDNN chose, by its own clock", page);
  if (!study.notes.empty()) {
    page.Heading("What the sweep's notes say");
    page.Line(study.notes);
  }
  if (!study.warnings.empty()) page.Heading("Warnings");
  for (const std::string& warning : study.warnings) page.Line(warning);
  return page.text();
}

std::string CostToJson(const CostStudy& study) {
  Json rows = Json::array();
  for (const CostRow& row : study.rows) rows.push_back(ToJson(row));
  const Json json = {{"cost_version", 1},          {"title", study.title},
                     {"notes", study.notes},       {"steps", study.steps},
                     {"noisy_runs", kNoisyRuns},   {"headlines", study.headlines},
                     {"warnings", study.warnings}, {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CostToCsv(const CostStudy& study) {
  Csv csv;
  for (const CostRow& row : study.rows) {
    csv.Add(row, {.table = "ratio"}, "wall_ratio", row.ratio);
    if (row.device_ratio.value) {
      csv.Add(row, {.table = "ratio"}, "device_ratio", row.device_ratio);
    }
    for (const CostSamples& one : row.samples) AddSteps(row, one, csv);
    AddKernelCsv(row, "kernel", row.kernels, csv);
    AddKernelCsv(row, "primitive", row.primitives, csv);
  }
  return csv.Take();
}

std::string RenderCostPage(const CostStudy& study) {
  return PlainPage(study.title, "what determinism costs", RenderCostTables(study));
}

}  // namespace noisefloor::report
