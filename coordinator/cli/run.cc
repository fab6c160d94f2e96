#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/data_roots.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/standstill.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/submission.h"
#include "coordinator/cli/train_here.h"

namespace noisefloor::cli {

namespace {

class RunCommand final : public Command {
 public:
  std::string_view Name() const override { return "run"; }
  std::string_view Help() const override {
    return "Do a whole study on this machine: train, follow, report";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor run deploy/sweeps/first_study.yaml
  noisefloor run sweep.yaml --data-root=/data --slots=2 --report=study.html
  noisefloor run sweep.yaml          # interrupted: the same command goes on
  noisefloor run sweep.yaml --page   # and watch it in a browser
  noisefloor run sweep.yaml --again  # a new sweep beside the old one
  noisefloor run sweep.yaml --trainer "mine=python train.py")";
  }
  void Describe(CLI::App& app) override {
    app.add_option("file", file_, "the sweep file")->required()->type_name("SWEEP");
    app.add_flag("--again", again_, "make a new sweep though there is an equal one");
    app.add_option(
           "--slots", slots_,
           "trainers at the same time on the processors (default: by the cores); each GPU has "
           "one of its own")
        ->type_name("N")
        ->check(CLI::Range(1, 512));
    app.add_option("--report", report_,
                   "where the page goes (default: <--home>/reports/NAME-sID.html)")
        ->type_name("FILE");
    app.add_flag("--page", page_,
                 "offer the page for browsers while it runs, at a free port of loopback or "
                 "--page=HOST:PORT");
    app.add_option("--data-root", data_root_, kDataRootHelp)->type_name("DIRS");
    app.add_option("--trainer", trainers_, kTrainerHelp)
        ->type_name("STACK=COMMAND")
        ->check(StackAndCommand())
        ->allow_extra_args(false);
    sharing_.Describe(app);
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput(fmt::format("--coordinator: run brings its own; use {} and {}",
                                      context.Hint("submit"), context.Hint("watch")));
    }
    if (page_ == "true") page_ = "127.0.0.1:0";  // The flag without a value.
    if (page_ == "off") page_.clear();
    if (!page_.empty()) NF_RETURN_IF_ERROR(Annotate(ParseAddress(page_).status(), "--page"));
    if (!report_.empty()) NF_RETURN_IF_ERROR(Annotate(CheckStudyPath(report_), "--report"));
    OutliveReaders();
    if (!trainers_.empty()) return RunOthers(context);
    NF_ASSIGN_OR_RETURN(const SweepFile file,
                        sweep_file::ReadSweepFile(file_, sweep_file::OwnSettings));
    NF_ASSIGN_OR_RETURN(Connection connection, OpenHere(context));
    NF_ASSIGN_OR_RETURN(const v1::AssumedWorker here,
                        WorkerHere(static_cast<uint32_t>(slots_), file.sweep));
    NF_ASSIGN_OR_RETURN(const v1::PlanSweepResponse plan, PlanSweep(connection, file, {here}));
    NF_ASSIGN_OR_RETURN(const std::optional<v1::SweepSummary> ended, EndedBefore(connection, plan));
    if (ended.has_value()) {
      context.err << fmt::format("already ended: s{}: {}\n", ended->id(), CountsText(*ended));
      SayWhatStays(context, sharing_, ended->id());
      return Report(context, connection, *ended);
    }
    SayNotes(context, file);
    NF_RETURN_IF_ERROR(CheckEveryCellHasAWorker(plan, here));
    NF_RETURN_IF_ERROR(CheckGivenRoots("--data-root", data_root_));
    NF_RETURN_IF_ERROR(CheckDataIsHere(context, file.sweep, DataRoots(context, data_root_)));
    NF_ASSIGN_OR_RETURN(const TrainedHere trained, Train(context, connection, file, here));
    return Tell(context, connection, trained);
  }

 private:
  // Which settings the trainers have they say when the worker has started them, so the file is read
  // then.
  absl::StatusOr<int> RunOthers(Context& context) const {
    NF_ASSIGN_OR_RETURN(Connection connection, OpenHere(context));
    NF_RETURN_IF_ERROR(CheckGivenRoots("--data-root", data_root_));
    NF_ASSIGN_OR_RETURN(const TrainedHere trained,
                        TrainHere(context, connection, WorkerSettings(context),
                                  [&](Connection& here_now) -> absl::StatusOr<uint64_t> {
                                    NF_ASSIGN_OR_RETURN(const SweepFile file,
                                                        ReadSweepFile(here_now, file_));
                                    SayNotes(context, file);
                                    return SubmitHere(context, here_now, file);
                                  }));
    return Tell(context, connection, trained);
  }

  absl::StatusOr<int> Tell(Context& context, Connection& connection,
                           const TrainedHere& trained) const {
    const v1::SweepSummary& sweep = trained.sweep;
    for (const std::string& line : LeftHalfWay(context, connection, sweep.id())) {
      context.err << line << "\n";
    }
    if (trained.stopped) {
      context.err << fmt::format("stopped; s{} holds {}\n{} goes on with it\n", sweep.id(),
                                 CountsText(sweep), context.Hint("run " + file_));
      return kStopped;
    }
    return Report(context, connection, sweep);
  }

  absl::StatusOr<Connection> OpenHere(const Context& context) const {
    absl::StatusOr<Connection> connection = OpenToTrain(context, Connection::Home::kMake, page_);
    if (!connection.ok()) return Queueable(context, connection.status());
    const Coordinator* const here = connection->coordinator();
    if (here != nullptr && !here->page_url().empty()) {
      context.err << "page: " << here->page_url() << "\n";
    }
    return connection;
  }

  // Where another `run` or a `serve` holds the home, the sweep can wait its turn.
  absl::Status Queueable(const Context& context, const absl::Status& refused) const {
    if (HolderAddress(refused).empty()) return refused;
    return MakeError(refused.code(),
                     fmt::format("{}; {} queues the sweep there, {} follows it", Message(refused),
                                 context.Hint("submit " + file_), context.Hint("watch")));
  }

  LocalWorkerSettings WorkerSettings(const Context& context) const {
    return {.slots = slots_,
            .data_roots = JoinDataRoots(DataRoots(context, data_root_)),
            .trainers = trainers_};
  }

  // Also with the stacks of noisefloor that the sweep names: what is not installed the worker says.
  LocalWorkerSettings WorkerSettings(const Context& context, const v1::Sweep& sweep) const {
    LocalWorkerSettings settings = WorkerSettings(context);
    settings.gpus_per_slot = GpusPerSlot(sweep);
    settings.stacks = OurStacksOf({sweep.stacks().begin(), sweep.stacks().end()});
    return settings;
  }

  // The sweep that a submission of this plan would go on with, when nothing of it is left to train:
  // that needs no data, no trainer and none of its hardware.
  absl::StatusOr<std::optional<v1::SweepSummary>> EndedBefore(
      Connection& connection, const v1::PlanSweepResponse& plan) const {
    if (again_) return std::nullopt;
    NF_ASSIGN_OR_RETURN(const std::vector<v1::SweepSummary> newest_first,
                        ListSweeps(connection, nullptr, /*archived=*/true));
    for (const v1::SweepSummary& sweep : newest_first) {
      if (sweep.specification_sha256() != plan.specification_sha256()) continue;
      return HasEnded(sweep) ? std::optional(sweep) : std::nullopt;
    }
    return std::nullopt;
  }

  // How the sweep stands when we come to it.
  static std::string_view Beginning(const v1::SubmitSweepResponse& submitted,
                                    const v1::SweepSummary& sweep) {
    if (!submitted.resumed()) return "started";
    return HasEnded(sweep) ? "already ended:" : "going on with";
  }

  absl::StatusOr<TrainedHere> Train(Context& context, Connection& here_now, const SweepFile& file,
                                    const v1::AssumedWorker& here) const {
    return TrainHere(context, here_now, WorkerSettings(context, file.sweep),
                     [&](Connection& connection) -> absl::StatusOr<uint64_t> {
                       // Now its stacks are known, too.
                       NF_ASSIGN_OR_RETURN(const v1::PlanSweepResponse plan,
                                           PlanSweep(connection, file, {}));
                       NF_RETURN_IF_ERROR(CheckEveryCellHasAWorker(plan, here));
                       return SubmitHere(context, connection, file);
                     });
  }

  absl::StatusOr<uint64_t> SubmitHere(Context& context, Connection& connection,
                                      const SweepFile& file) const {
    NF_ASSIGN_OR_RETURN(const v1::SubmitSweepResponse submitted,
                        SubmitSweep(context, connection, file, !again_, sharing_));
    v1::GetSweepRequest request;
    request.set_sweep_id(submitted.sweep_id());
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse before,
                        connection.Call(&Stub::GetSweep, request));
    context.err << fmt::format("{} s{}: {} on {}\n", Beginning(submitted, before.sweep()),
                               submitted.sweep_id(), CountsText(before.sweep()),
                               HardwareText(submitted));
    if (submitted.resumed()) SayWhatStays(context, sharing_, submitted.sweep_id());
    return submitted.sweep_id();
  }

  std::string ReportPath(const Context& context, const v1::SweepSummary& sweep) const {
    if (!report_.empty()) return report_;
    return fmt::format("{}/reports/{}-s{}.html", context.options.home, sweep.name(), sweep.id());
  }

  absl::StatusOr<int> Report(Context& context, Connection& connection,
                             const v1::SweepSummary& sweep) const {
    const auto form =
        context.Json() ? v1::GetStudyRequest::FORM_JSON : v1::GetStudyRequest::FORM_TABLES;
    NF_RETURN_IF_ERROR(PrintStudy(connection, context, sweep.id(), form));
    context.out.flush();
    const std::string path = ReportPath(context, sweep);
    NF_ASSIGN_OR_RETURN(const bool page, WritePage(connection, context, sweep.id(), path));
    if (page) context.err << "report: " << path << "\n";
    return SayWhatIsMissing(context, connection, sweep);
  }

  static absl::StatusOr<int> SayWhatIsMissing(Context& context, Connection& connection,
                                              const v1::SweepSummary& sweep) {
    if (sweep.failed() == 0 && sweep.cancelled() == 0) return kDone;
    if (sweep.failed() > 0) {
      NF_ASSIGN_OR_RETURN(const std::vector<std::string> causes,
                          WhyMembersFailed(connection, sweep.id()));
      for (const std::string& cause : causes) context.err << cause << "\n";
    }
    context.err << fmt::format("{} failed, {} cancelled; {} and the same run again train them\n",
                               Counted(sweep.failed(), "member"), sweep.cancelled(),
                               context.Hint(fmt::format("retry s{}", sweep.id())));
    return kFailedMembers;
  }

  std::string file_;
  std::string report_;
  std::string data_root_;
  std::string page_;
  int slots_ = 0;
  bool again_ = false;
  std::vector<std::string> trainers_;
  SharingOptions sharing_;
};

}  // namespace

std::unique_ptr<Command> MakeRun() { return std::make_unique<RunCommand>(); }

}  // namespace noisefloor::cli
