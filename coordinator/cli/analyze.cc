#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/study_output.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/inputs/read_export.h"
#include "coordinator/inputs/runs.h"
#include "coordinator/inputs/runs_table.h"

namespace noisefloor::cli {

namespace {

// How the table was understood: a misspelt column becomes an axis, and that has to be seen.
std::string Understood(const report::StudyInput& input) {
  std::set<std::string> hardware, stacks;
  for (const report::CellInput& cell : input.cells) {
    hardware.insert(cell.hardware);
    stacks.insert(cell.stack);
  }
  std::string text =
      fmt::format("{} on {} of hardware, {}", Counted(input.members.size(), "run"),
                  hardware.size() == 1 ? "1 class" : fmt::format("{} classes", hardware.size()),
                  Counted(stacks.size(), "stack"));
  for (const report::PlanInput& plan : input.sweep.plans) {
    text += fmt::format("\n  plan {}: ", plan.name);
    if (plan.sources.empty()) text += "the table says nothing of its sources of noise";
    bool first = true;
    for (const auto& [source, rule] : plan.sources) {
      text += fmt::format("{}{} {}", std::exchange(first, false) ? "" : ", ", Name(source),
                          Name(rule.state));
    }
  }
  for (const auto& axis : input.sweep.axes) {
    text += fmt::format("\n  axis {}: {}", axis[0].path, Counted(axis[0].values.size(), "value"));
    const std::string_view meant = inputs::MeantColumn(axis[0].path);
    if (!meant.empty()) text += fmt::format(" (did you mean the column {}?)", meant);
  }
  return text + "\n";
}

class Analyze final : public Command {
 public:
  std::string_view Name() const override { return "analyze"; }
  std::string_view Help() const override {
    return "Make the study of what others trained: predictions and a table of runs";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor analyze results
  noisefloor analyze results --to=report.html
  noisefloor analyze results --form=csv > study.csv

results/runs.csv has a line for each run and these columns, all but `run` optional:
  run, predictions       its name, and a .npy of logits [examples, classes] or answers [examples]
                         (without the column: RUN.npy)
  hardware, stack        what it ran on: classes and software are compared with each other
  plan, block            runs that vary the same sources; an independent repetition of held seeds
  init, data_order, ...  of a source of noise the seed (equal seeds are equal draws), `free` for one
                         that nobody noted, `off` for a source that did not act; without a word of
                         a physical one (kernels, ...) equal seeds need not give equal bits
  top1, top5, loss       as the training told them, shares from 0 to 1
  weights_sha256, unit, seconds
  any other              an axis: a setting that the runs differ in
results/labels.npy has the true classes, results/classes.txt their names, a line each;
results/groups.csv sorts the examples into groups, a column `example` from 0 and others.)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("folder", folder_, "the folder with runs.csv")->required()->type_name("DIR");
    output_.Describe(app);
  }

  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(output_.Form(context).status());  // Before anything takes long.
    NF_ASSIGN_OR_RETURN(inputs::StudySource source, inputs::ReadRuns(folder_));
    NF_RETURN_IF_ERROR(CheckNothingIsOverwritten(source));
    context.err << Understood(source.input);
    source.input.sweep.noisefloor_version = NOISEFLOOR_VERSION;
    NF_ASSIGN_OR_RETURN(const inputs::LoadedStudy loaded,
                        inputs::LoadWhole(std::move(source), inputs::FindChecked));
    NF_RETURN_IF_ERROR(output_.Tell(context, inputs::BuildStudy(loaded)));
    return kDone;
  }

 private:
  // What is read must not be what is written.
  absl::Status CheckNothingIsOverwritten(const inputs::StudySource& source) const {
    if (output_.to().empty()) return absl::OkStatus();
    const std::string to = LinkTarget(output_.to());
    const auto check = [&](const std::string& read) {
      if (LinkTarget(read) != to) return absl::OkStatus();
      return InvalidInput(fmt::format("--to={}: the study is made of that file", output_.to()));
    };
    for (const std::string_view file : {inputs::kRunsFile, inputs::kClassesFile}) {
      NF_RETURN_IF_ERROR(check(fmt::format("{}/{}", folder_, file)));
    }
    return inputs::ForEachFile(source,
                               [&](const inputs::InputFile& file) { return check(file.path); });
  }

  std::string folder_;
  StudyOutput output_;
};

}  // namespace

std::unique_ptr<Command> MakeAnalyze() { return std::make_unique<Analyze>(); }

}  // namespace noisefloor::cli
