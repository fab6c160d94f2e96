#include "coordinator/report/infer_text.h"

#include <algorithm>
#include <vector>

#include "fmt/format.h"

#include "common/base/csv.h"
#include "coordinator/report/json_values.h"
#include "coordinator/report/plain_page.h"
#include "coordinator/report/text_page.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Estimate;

bool HasSeveralStacks(const InferStudy& study) {
  return std::ranges::any_of(study.rows, [&](const InferRow& row) {
    return row.infer_stack != study.rows[0].infer_stack ||
           (!row.train_hardware.empty() && row.train_stack != study.rows[0].infer_stack);
  });
}

// Class and, where they matter, stack of a side.
std::string SideOf(const std::string& hardware, const std::string& stack, bool with_stack) {
  return with_stack ? HardwareName(hardware) + ", " + (stack.empty() ? "any" : stack)
                    : HardwareName(hardware);
}

std::string TrainedOn(const InferRow& row, bool with_stack) {
  return row.train_hardware.empty() ? "a file"
                                    : SideOf(row.train_hardware, row.train_stack, with_stack);
}

std::string Square(const InferRow& row) {
  if (!row.churn.value) return row.done < row.members ? "not done" : "-";
  if (row.identical == row.weights) return fmt::format("same bits (n = {})", row.weights);
  return fmt::format("{} (n = {})", WithInterval(row.churn), row.churn.n);
}

// Each value once, in the order of the rows.
template <typename Of>
std::vector<std::string> Distinct(const std::vector<const InferRow*>& rows, const Of& of) {
  std::vector<std::string> found;
  for (const InferRow* row : rows) {
    if (std::ranges::find(found, of(*row)) == found.end()) found.push_back(of(*row));
  }
  return found;
}

void AddMatrix(const std::vector<const InferRow*>& rows, bool with_stack, TextPage& page) {
  const auto trained = [&](const InferRow& row) { return TrainedOn(row, with_stack); };
  const auto evaluated = [&](const InferRow& row) {
    return SideOf(row.infer_hardware, row.infer_stack, with_stack);
  };
  const std::vector<std::string> columns = Distinct(rows, evaluated);
  std::vector<std::string> header = {"trained on \\ evaluated on"};
  header.insert(header.end(), columns.begin(), columns.end());
  TextRows lines;
  for (const std::string& from : Distinct(rows, trained)) {
    std::vector<std::string>& line = lines.emplace_back(1, from);
    for (const std::string& to : columns) {
      const auto row = std::ranges::find_if(rows, [&](const InferRow* one) {
        return trained(*one) == from && evaluated(*one) == to;
      });
      line.push_back(row == rows.end() ? "" : Square(**row));
    }
  }
  page.Table(header, lines);
}

void AddAccuracy(const InferStudy& study, bool with_stack, TextPage& page) {
  TextRows lines;
  for (const InferRow& row : study.rows) {
    lines.push_back({SettingOfRow(row), TrainedOn(row, with_stack),
                     SideOf(row.infer_hardware, row.infer_stack, with_stack),
                     fmt::format("{}/{}", row.done, row.members), WithInterval(row.accuracy),
                     WithInterval(row.accuracy_difference),
                     row.weights == 0 ? "-" : fmt::format("{}/{}", row.identical, row.weights)});
  }
  page.Heading("Top-1 here, and less that where the weights were trained");
  page.Table({"plan", "trained on", "evaluated on", "done", "top-1", "difference", "same bits"},
             lines);
}

void AddGroups(const InferStudy& study, bool with_stack, TextPage& page) {
  TextRows lines;
  for (const InferRow& row : study.rows) {
    for (const InferGroup& group : row.groups) {
      lines.push_back({SettingOfRow(row), TrainedOn(row, with_stack),
                       SideOf(row.infer_hardware, row.infer_stack, with_stack),
                       group.column + ": " + group.name, std::to_string(group.examples),
                       WithInterval(group.churn)});
    }
  }
  if (lines.empty()) return;
  page.Heading("Answers that change, by groups of the test examples");
  page.Table({"plan", "trained on", "evaluated on", "group", "examples", "churn"}, lines);
}

Json RowToJson(const InferRow& row) {
  return {{"plan", row.plan},
          {"axes_label", row.axes_label},
          {"train_hardware", row.train_hardware},
          {"infer_hardware", row.infer_hardware},
          {"train_stack", row.train_stack},
          {"infer_stack", row.infer_stack},
          {"members", row.members},
          {"done", row.done},
          {"weights", row.weights},
          {"identical", row.identical},
          {"accuracy", ToJson(row.accuracy)},
          {"accuracy_difference", ToJson(row.accuracy_difference)},
          {"churn", ToJson(row.churn)},
          {"groups", List(row.groups, [](const InferGroup& group) {
             return Json{{"column", group.column},
                         {"name", group.name},
                         {"examples", group.examples},
                         {"churn", ToJson(group.churn)}};
           })}};
}

std::string Text(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

void AddCsv(const InferRow& row, const std::string& group, const char* metric, const Estimate& e,
            std::string& csv) {
  csv +=
      fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(row.plan),
                  CsvField(row.axes_label), CsvField(row.train_hardware), CsvField(row.train_stack),
                  CsvField(row.infer_hardware), CsvField(row.infer_stack), CsvField(group), metric,
                  Text(e.value), Text(e.low), Text(e.high), e.n, CsvField(e.note));
}

}  // namespace

std::string RenderInferTables(const InferStudy& study, const Screen& screen) {
  TextPage page(screen);
  const bool with_stack = HasSeveralStacks(study);
  page.Heading(study.title);
  for (const std::string& headline : study.headlines) page.Line(headline);
  std::vector<const InferRow*> all;
  for (const InferRow& row : study.rows) all.push_back(&row);
  for (const std::string& setting : Distinct(all, SettingOfRow)) {
    std::vector<const InferRow*> rows;
    std::ranges::copy_if(all, std::back_inserter(rows),
                         [&](const InferRow* row) { return SettingOfRow(*row) == setting; });
    page.Heading(
        fmt::format("{}: answers that are others than where the weights were trained", setting));
    AddMatrix(rows, with_stack, page);
  }
  page.Line(
      "Mean over different weights with Student's t; n counts these. Where they share draws in "
      "part "
      "(by levels, or in several blocks that hold a source) there is no interval.");
  if (!study.rows.empty()) AddAccuracy(study, with_stack, page);
  AddGroups(study, with_stack, page);
  if (!study.warnings.empty()) page.Heading("Warnings");
  for (const std::string& warning : study.warnings) page.Line(warning);
  return page.text();
}

std::string InferToJson(const InferStudy& study) {
  const Json json = {
      {"infer_version", 1},
      {"title", study.title},
      {"headlines", study.headlines},
      {"warnings", study.warnings},
      {"rows", List(study.rows, [](const InferRow& row) { return RowToJson(row); })}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string InferToCsv(const InferStudy& study) {
  std::string csv =
      "plan,axes,train_hardware,train_stack,infer_hardware,infer_stack,group,metric,value,low,high,"
      "n,note\n";
  for (const InferRow& row : study.rows) {
    AddCsv(row, "", "top1", row.accuracy, csv);
    AddCsv(row, "", "top1_difference", row.accuracy_difference, csv);
    AddCsv(row, "", "churn", row.churn, csv);
    Estimate identical;
    if (row.weights > 0) {
      identical.value = static_cast<double>(row.identical) / static_cast<double>(row.weights);
    }
    identical.n = row.weights;
    AddCsv(row, "", "identical", identical, csv);
    for (const InferGroup& group : row.groups) {
      AddCsv(row, group.column + ": " + group.name, "churn", group.churn, csv);
    }
  }
  return csv;
}

std::string RenderInferPage(const InferStudy& study) {
  return PlainPage(study.title, "train on, infer on", RenderInferTables(study));
}

}  // namespace noisefloor::report
