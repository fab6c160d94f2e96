#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/offers.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/standstill.h"
#include "coordinator/cli/submission.h"
#include "coordinator/cli/table.h"
#include "coordinator/sweep_file/sweep_notes.h"

namespace noisefloor::cli {

namespace {

constexpr int kCellsShown = 60;

std::string OrAny(const std::string& name) { return name.empty() ? "any" : name; }

std::string Axes(const v1::PlannedCell& cell) {
  std::string text;
  for (const v1::Setting& setting : cell.axes())
    text += (text.empty() ? "" : " ") + ToText(setting);
  return text.empty() ? "-" : text;
}

Json ToJson(const v1::PlannedCell& cell) {
  Json axes = Json::object();
  for (const v1::Setting& setting : cell.axes()) axes[setting.path()] = ToText(setting.value());
  return {{"cell", cell.cell()},
          {"axes", axes},
          {"plan", cell.plan()},
          {"hardware", cell.hardware()},
          {"stack", cell.stack()},
          {"block", cell.block()},
          {"replicates", cell.replicates()},
          {"workers", std::vector<std::string>(cell.workers().begin(), cell.workers().end())}};
}

Json ToJson(const v1::PlannedPlan& plan) {
  return {{"name", plan.name()},
          {"replicates", plan.replicates()},
          {"blocks", plan.blocks()},
          {"cells", plan.cells()},
          {"members", plan.members()},
          {"draws", plan.draws()},
          {"control", plan.control()},
          {"detectable_sd_ratio", JsonNumber(plan.detectable_sd_ratio())},
          {"detectable_mean_shift", JsonNumber(plan.detectable_mean_shift())}};
}

void PrintPlanJson(const Context& context, const v1::PlanSweepResponse& plan) {
  Json cells = Json::array();
  for (const v1::PlannedCell& cell : plan.cells()) cells.push_back(ToJson(cell));
  Json plans = Json::array();
  for (const v1::PlannedPlan& one : plan.plans()) plans.push_back(ToJson(one));
  PrintJson(
      context.out,
      {{"cells", cells},
       {"members", plan.members()},
       {"plans", plans},
       {"steps", std::to_string(plan.steps())},
       {"expected_seconds", JsonNumber(plan.expected_seconds())},
       {"expected_from", plan.expected_from()},
       {"specification_sha256", plan.specification_sha256()},
       {"warnings", std::vector<std::string>(plan.warnings().begin(), plan.warnings().end())}});
}

void Say(const Context& context, std::string_view text) {
  context.out << Wrapped(text, context.out_columns);
}

void PrintCells(const Context& context, const v1::PlanSweepResponse& plan) {
  Table table({"cell", "plan", "hardware", "stack", "block", "workers", "axes"});
  for (const v1::PlannedCell& cell : plan.cells()) {
    if (cell.cell() >= kCellsShown) break;
    table.Add({std::to_string(cell.cell()), cell.plan(), OrAny(cell.hardware()),
               OrAny(cell.stack()), std::to_string(cell.block()),
               std::to_string(cell.workers_size()), Axes(cell)});
  }
  if (!table.empty()) table.Print(context);
  if (plan.cells_size() > kCellsShown) {
    context.out << "and " << plan.cells_size() - kCellsShown
                << " more cells; --output=json has all\n";
  }
}

void PrintWorkers(const Context& context, const v1::PlanSweepResponse& plan) {
  std::map<std::string, int> cells_of;
  int without = 0;
  for (const v1::PlannedCell& cell : plan.cells()) {
    without += cell.workers().empty() ? 1 : 0;
    for (const std::string& worker : cell.workers()) ++cells_of[worker];
  }
  for (const auto& [worker, cells] : cells_of) {
    context.out << "worker " << worker << " matches " << cells << " of " << plan.cells_size()
                << " cells\n";
  }
  if (without > 0) {
    context.out << without << " of " << plan.cells_size() << " cells match no worker\n";
  }
}

// What the coordinator can train at all, when some of it does not.
absl::Status SayWhatIsOffered(Context& context, Connection& connection,
                              const v1::PlanSweepResponse& plan) {
  const bool all = std::ranges::all_of(
      plan.cells(), [](const v1::PlannedCell& cell) { return !cell.workers().empty(); });
  if (all) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const std::string nobody, NobodyTrains(context, connection));
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ConnectedClasses(connection));
  Say(context, "note: " + (nobody.empty()
                               ? fmt::format("connected workers offer {}", fmt::join(classes, ", "))
                               : nobody));
  return absl::OkStatus();
}

std::string PowerText(const v1::PlannedPlan& plan, double figure) {
  if (plan.control()) return "bits only";
  return figure > 0 ? fmt::format("{:.2g}", figure) : "nothing";
}

void PrintPlans(const Context& context, const v1::PlanSweepResponse& plan) {
  Table table({"plan", "blocks", "replicates", "cells", "members", "draws of everything",
               "sees SD ratio", "sees mean shift"});
  for (const v1::PlannedPlan& one : plan.plans()) {
    table.Add({one.name(), std::to_string(one.blocks()), std::to_string(one.replicates()),
               std::to_string(one.cells()), std::to_string(one.members()),
               std::to_string(one.draws()), PowerText(one, one.detectable_sd_ratio()),
               PowerText(one, one.detectable_mean_shift())});
  }
  table.Print(context);
  Say(context,
      "draws of everything: of all seeded sources together, for each setting, class and stack; a "
      "plan that fixes one has as many as blocks, and what its replicates say holds at these draws "
      "of what it fixes.");
  Say(context,
      "sees: what four of five such studies would show (80 % power, 5 % level). SD ratio: one "
      "cell's "
      "SD of top-1 so many times another's, over blocks where these are the draws (nothing: not "
      "even 100 times). Mean shift: the means of two cells so many SDs of one cell apart.");
}

std::string TimePlanText(const v1::PlanSweepResponse& plan) {
  const bool known = plan.expected_seconds() > 0;
  const std::string from = plan.expected_from().empty() ? "" : " (" + plan.expected_from() + ")";
  return "expected time: " + (known ? DurationText(plan.expected_seconds()) : "not known") + from;
}

bool NamesAStack(const v1::PlanSweepResponse& plan) {
  return std::ranges::any_of(plan.cells(),
                             [](const v1::PlannedCell& cell) { return !cell.stack().empty(); });
}

class Plan final : public Command {
 public:
  std::string_view Name() const override { return "plan"; }
  std::string_view Help() const override {
    return "Check a sweep file and say what it would do; nothing is kept";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor plan sweep.yaml
  noisefloor plan sweep.yaml --coordinator=127.0.0.1:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("file", file_, "the sweep file")->required()->type_name("SWEEP");
  }

  absl::StatusOr<int> Run(Context& context) override {
    const Connection::Wish wish = {.home = Connection::Home::kAny};
    std::optional<Connection> opened;
    NF_ASSIGN_OR_RETURN(const SweepFile file, ReadSweepFile(context, file_, wish, opened));
    SayNotes(context, file);
    NF_ASSIGN_OR_RETURN(Connection connection, OpenUnless(context, wish, std::move(opened)));
    std::vector<v1::AssumedWorker> assumed;
    if (!connection.remote()) {
      NF_ASSIGN_OR_RETURN(assumed.emplace_back(), WorkerHere(0, file.sweep));
      context.err << fmt::format(
          "no --coordinator: planned for `noisefloor run` on this machine, which has {}\n",
          ClassesText(assumed[0].inventory()));
      const absl::Status data = CheckDataIsHere(context, file.sweep, DataRoots(context, ""));
      if (!data.ok()) context.err << "note: " << Message(data) << "\n";
    }
    NF_ASSIGN_OR_RETURN(const v1::PlanSweepResponse plan, PlanSweep(connection, file, assumed));
    WarnOfStorage(context, plan.storage_problem());
    // Where `run` would refuse, plan does, too; only it shows the whole plan first.
    const absl::Status runs =
        assumed.empty() ? absl::OkStatus() : CheckEveryCellHasAWorker(plan, assumed[0]);
    if (context.Json()) {
      PrintPlanJson(context, plan);
    } else {
      NF_RETURN_IF_ERROR(PrintPlan(context, connection, file, plan));
    }
    if (runs.ok()) return kDone;
    return MakeError(runs.code(), "`run` would refuse this: " + Message(runs));
  }

 private:
  static std::string StepsText(const v1::Sweep& sweep, const v1::PlanSweepResponse& plan) {
    if (plan.steps() > 0) return Counted(plan.steps(), "optimiser step");
    if (!sweep_file::IsForOurs(sweep)) return "steps that only its trainer knows";
    return HasOwnImages(sweep) ? "steps not known before its images are read" : "0 optimiser steps";
  }

  static absl::Status PrintPlan(Context& context, Connection& connection, const SweepFile& file,
                                const v1::PlanSweepResponse& plan) {
    PrintCells(context, plan);
    context.out << fmt::format("{}: {}, {}, {}\n", file.sweep.name(),
                               Counted(static_cast<uint64_t>(plan.cells_size()), "cell"),
                               Counted(plan.members(), "member"), StepsText(file.sweep, plan));
    PrintWorkers(context, plan);
    Say(context, TimePlanText(plan));
    PrintPlans(context, plan);
    if (!connection.remote() && NamesAStack(plan)) {
      Say(context,
          "note: `run` refuses a stack that the trainer here does not have; plan does not start it "
          "to ask");
    }
    if (std::ranges::any_of(plan.cells(),
                            [](const auto& cell) { return cell.hardware().empty(); })) {
      Say(context,
          "note: any is, for all members of a cell, the fastest class of the worker that takes its "
          "first one");
    }
    for (const std::string& warning : plan.warnings()) Say(context, "note: " + warning);
    if (connection.remote()) return SayWhatIsOffered(context, connection, plan);
    return absl::OkStatus();
  }

  std::string file_;
};

}  // namespace

std::unique_ptr<Command> MakePlan() { return std::make_unique<Plan>(); }

}  // namespace noisefloor::cli
