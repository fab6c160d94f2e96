#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "common/rpc/kinds.h"
#include "common/rpc/settings.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

constexpr int kMaxSettings = 1000;  // Of the base training.
constexpr int kMaxColumns = 16;     // Of an axis.
constexpr int kMaxValues = 10000;   // Of a column, and of a list that is one value.
constexpr int kMaxRules = 100;
constexpr int kMaxChoices = 100;            // Classes, stacks.
constexpr size_t kMaxValueText = 64 << 10;  // Bytes, of a text value.

// Collects what is wrong with the message itself.
class Check {
 public:
  explicit Check(std::vector<sweep::Problem>& problems) : problems_(problems) {}

  void Add(std::string field, std::string message) {
    problems_.push_back({std::move(field), std::move(message)});
  }
  bool Count(const std::string& field, int count, int most) {
    if (count <= most) return true;
    Add(field, fmt::format("expected at most {} entries, got {}", most, count));
    return false;
  }
  std::string Text(const std::string& field, const std::string& text, size_t most) {
    if (text.size() <= most) return text;
    Add(field, fmt::format("expected at most {} bytes, got {}", most, text.size()));
    return text.substr(0, most);
  }

 private:
  std::vector<sweep::Problem>& problems_;
};

void SetPlace(const sweep_file::Place& place, v1::FieldViolation& violation) {
  violation.set_line(static_cast<uint32_t>(place.line));
  violation.set_column(static_cast<uint32_t>(place.column));
}

std::optional<SettingValue> ValueFrom(const v1::Value& value, const std::string& field,
                                      Check& check) {
  if (!check.Count(field, value.list().values_size(), kMaxValues)) return std::nullopt;
  check.Text(field, value.text(), kMaxValueText);
  std::optional<SettingValue> taken = SettingValueFrom(value);
  if (!taken) check.Add(field, "expected a value, got none");
  return taken;
}

sweep::Axis AxisFrom(const v1::Axis& axis, const std::string& field, Check& check) {
  sweep::Axis result;
  if (!check.Count(field + ".columns", axis.columns_size(), kMaxColumns)) return result;
  for (const v1::AxisColumn& column : axis.columns()) {
    sweep::AxisColumn& into = result.columns.emplace_back();
    into.path = check.Text(field + ".path", column.path(), kMaxName);
    const std::string values = fmt::format("axes.{}", into.path);
    if (!check.Count(values, column.values_size(), kMaxValues)) continue;
    for (int i = 0; i < column.values_size(); ++i) {
      auto value = ValueFrom(column.values(i), fmt::format("{}[{}]", values, i), check);
      if (value) into.values.push_back(*std::move(value));
    }
  }
  return result;
}

sweep::PlanRequest PlanFrom(const v1::NoisePlan& plan, const std::string& field, Check& check) {
  sweep::PlanRequest result;
  result.name = check.Text(field + ".name", plan.name(), kMaxName);
  result.base = check.Text(field + ".base", plan.base(), kMaxName);
  result.replicates = plan.replicates();
  result.blocks = plan.blocks();
  if (!check.Count(field, plan.rules_size(), kMaxRules)) return result;
  for (const v1::SourceRule& rule : plan.rules()) {
    const std::string source = check.Text(field, rule.source(), kMaxName);
    if (const auto state = SourceStateFrom(rule.state())) {
      result.rules.push_back({source, {*state, {rule.levels().begin(), rule.levels().end()}}});
    } else {
      check.Add(fmt::format("{}.{}", field, source),
                fmt::format("expected off, fixed or free, got {}", static_cast<int>(rule.state())));
    }
  }
  return result;
}

void HardwareFrom(const v1::HardwareChoice& choice, sweep::SweepRequest& into, Check& check) {
  switch (choice.kind()) {
    case v1::HardwareChoice::KIND_ALL: into.hardware = sweep::HardwareKind::kAll; break;
    case v1::HardwareChoice::KIND_ANY: into.hardware = sweep::HardwareKind::kAny; break;
    case v1::HardwareChoice::KIND_LIST: into.hardware = sweep::HardwareKind::kList; break;
    case v1::HardwareChoice::KIND_UNSPECIFIED:  // As in a sweep file that does not say.
      into.hardware =
          choice.classes().empty() ? sweep::HardwareKind::kAll : sweep::HardwareKind::kList;
      break;
    default:
      check.Add("hardware", fmt::format("expected all, any or a list of classes, got kind {}",
                                        static_cast<int>(choice.kind())));
  }
  if (!check.Count("hardware", choice.classes_size(), kMaxChoices)) return;
  for (const std::string& name : choice.classes()) {
    into.classes.push_back(check.Text("hardware", name, kMaxName));
  }
}

void TrainingFrom(const v1::Sweep& message, sweep::SweepRequest& into, Check& check) {
  if (!check.Count("training", message.training_size(), kMaxSettings)) return;
  for (const v1::Setting& setting : message.training()) {
    const std::string path = check.Text("training", setting.path(), kMaxName);
    auto value = ValueFrom(setting.value(), path, check);
    if (value) into.training.emplace_back(path, *std::move(value));
  }
}

std::optional<sweep::Until> UntilFrom(const v1::Until& until, Check& check) {
  const auto figure = sweep::ParseUntilFigure(check.Text("until.figure", until.figure(), kMaxName));
  if (!figure) {
    check.Add("until.figure", fmt::format("expected churn or top1, got '{}'",
                                          PrintableLine(until.figure().substr(0, kMaxName))));
    return std::nullopt;
  }
  return sweep::Until{*figure, until.half_width(), until.most()};
}

void WordsFrom(const v1::Sweep& message, sweep::SweepRequest& into, Check& check) {
  into.name = check.Text("name", message.name(), kMaxName);
  into.notes = check.Text("notes", message.notes(), sweep::kMaxNotesBytes);
  if (!check.Count("tags", static_cast<int>(message.tags().size()), int{sweep::kMaxTags})) return;
  for (const auto& [key, value] : message.tags()) {
    into.tags[check.Text("tags", key, kMaxName)] =
        check.Text("tags." + key, value, sweep::kMaxTagBytes);
  }
}

}  // namespace

sweep::SweepRequest SweepRequestFrom(const v1::Sweep& message,
                                     std::vector<sweep::Problem>& problems) {
  Check check(problems);
  sweep::SweepRequest request;
  WordsFrom(message, request, check);
  request.seed = message.seed();
  TrainingFrom(message, request, check);
  if (check.Count("axes", message.axes_size(), int{sweep::kMaxAxes})) {
    for (int i = 0; i < message.axes_size(); ++i) {
      request.axes.push_back(AxisFrom(message.axes(i), fmt::format("axes[{}]", i), check));
    }
  }
  if (check.Count("noise", message.noise_size(), int{sweep::kMaxPlans})) {
    for (int i = 0; i < message.noise_size(); ++i) {
      request.noise.push_back(PlanFrom(message.noise(i), fmt::format("noise[{}]", i), check));
    }
  }
  HardwareFrom(message.hardware(), request, check);
  if (check.Count("stacks", message.stacks_size(), kMaxChoices)) {
    for (const std::string& stack : message.stacks()) {
      request.stacks.push_back(check.Text("stacks", stack, kMaxName));
    }
  }
  // What is left out is as in a sweep file.
  request.replicates = std::max(1u, message.replicates());
  request.blocks = std::max(1u, message.blocks());
  if (message.has_until()) request.until = UntilFrom(message.until(), check);
  if (message.has_reference_accuracy()) request.reference_accuracy = message.reference_accuracy();
  return request;
}

absl::Status BadSweepFrom(const std::vector<sweep::Problem>& problems,
                          const sweep_file::Places* places) {
  v1::BadSweep bad;
  for (const sweep::Problem& problem : problems) {
    v1::FieldViolation& violation = *bad.add_violations();
    violation.set_field(problem.field);
    violation.set_description(problem.message);
    if (places != nullptr) SetPlace(sweep_file::PlaceOf(*places, problem.field), violation);
  }
  return BadSweepError(bad);
}

absl::Status BadSweepFrom(const std::vector<sweep_file::Mistake>& mistakes) {
  constexpr size_t kMost = 100;
  v1::BadSweep bad;
  for (size_t i = 0; i < std::min(mistakes.size(), kMost); ++i) {
    v1::FieldViolation& violation = *bad.add_violations();
    violation.set_field(mistakes[i].path);
    violation.set_description(mistakes[i].message);
    SetPlace(mistakes[i].place, violation);
  }
  return BadSweepError(bad);
}

absl::StatusOr<MemberId> MemberFrom(std::string_view text) {
  if (const auto member = ParseMemberId(text)) return *member;
  return InvalidInput(
      fmt::format("member: expected a name like s3c12r4, got '{}'", text.substr(0, kMaxName)));
}

}  // namespace noisefloor
