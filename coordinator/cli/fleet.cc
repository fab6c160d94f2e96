// Pools of workers that come and go on a cluster.
#include <filesystem>
#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/fleet_manifest.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/sharing.h"
#include "coordinator/cli/table.h"
#include "noisefloor/v1/fleet_api.grpc.pb.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

using FleetStub = v1::FleetService::StubInterface;

std::string_view StateName(v1::PoolState state) {
  if (state == v1::POOL_STATE_PAUSED) return "paused";
  return state == v1::POOL_STATE_REMOVING ? "removing" : "active";
}

std::string_view PhaseName(v1::LaunchPhase phase) {
  if (phase == v1::LAUNCH_PHASE_INTENDED) return "intended";
  return phase == v1::LAUNCH_PHASE_WAITING ? "waiting" : "alive";
}

Json ToJson(const v1::PoolWish& wish) {
  return {{"name", wish.name()},
          {"hardware", wish.hardware()},
          {"cluster", std::vector<std::string>(wish.cluster().begin(), wish.cluster().end())},
          {"worker", std::vector<std::string>(wish.worker().begin(), wish.worker().end())},
          {"prologue", wish.prologue()},
          {"program", wish.program()},
          {"access", wish.access()},
          {"logs", wish.logs()},
          {"min", wish.min()},
          {"max", wish.max()},
          {"backlog", wish.backlog()},
          {"idle_seconds", wish.idle_seconds()},
          {"time_limit_seconds", wish.time_limit_seconds()},
          {"drain_before_seconds", wish.drain_before_seconds()},
          {"gpu_hours", wish.gpu_hours()}};
}

Json ToJson(const v1::Launch& launch) {
  return {{"worker", launch.worker()},
          {"job", launch.job()},
          {"phase", PhaseName(launch.phase())},
          {"reason", launch.reason()},
          {"node", launch.node()},
          {"heard", launch.heard()},
          {"created_unix_seconds", launch.created_unix_seconds()},
          {"began_unix_seconds", launch.began_unix_seconds()}};
}

Json ToJson(const v1::Pool& pool) {
  Json launches = Json::array();
  for (const v1::Launch& launch : pool.launches()) launches.push_back(ToJson(launch));
  return {{"pool", ToJson(pool.wish())},
          {"state", StateName(pool.state())},
          {"standing", pool.standing()},
          {"classes", std::vector<std::string>(pool.classes().begin(), pool.classes().end())},
          {"stacks", std::vector<std::string>(pool.stacks().begin(), pool.stacks().end())},
          {"slots", pool.slots()},
          {"gpu_hours_used", pool.gpu_hours_used()},
          {"created_unix_seconds", pool.created_unix_seconds()},
          {"created_by", pool.created_by()},
          {"launches", std::move(launches)}};
}

class Fleet final : public Command {
 public:
  std::string_view Name() const override { return "fleet"; }
  std::string_view Help() const override {
    return "Let workers come and go on a cluster: pools of jobs, one worker in each";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor fleet add a100 --slurm --gres=gpu:a100:1 --max=16 --dry-run
  noisefloor fleet add a100 --slurm --gres=gpu:a100:1 --max=16 --time=4h
  noisefloor fleet add v100 --slurm --partition=gpu --sbatch=--constraint=v100 --sbatch=--qos=long
  noisefloor fleet status
  noisefloor fleet status a100
  noisefloor fleet pause a100      # what runs goes on; `resume` goes on after a pause, ours too
  noisefloor fleet logs a100       # of the worker that failed last, else of the newest
  noisefloor fleet remove a100
  noisefloor fleet manifest a100 --kubernetes --image=registry.example/nf:0.2 --gpus=1 --max=8
  noisefloor fleet manifest lab --systemd --worker=--slots=4)";
  }
  void Describe(CLI::App& app) override {
    app.require_subcommand(1);
    DescribeAdd(app);
    status_ = app.add_subcommand("status", "Say where pools stand and which jobs they have");
    status_->add_option("pool", name_, "only this one")->type_name("NAME");
    pause_ = Named(app, "pause", "Begin no new jobs of a pool; what runs goes on");
    resume_ = Named(app, "resume", "Let a pool go on that was paused, by you or by its failures");
    remove_ = Named(app, "remove", "End all jobs of a pool, and forget it");
    logs_ = Named(app, "logs", "Print the end of what a worker of a pool has said");
    logs_
        ->add_option("worker", worker_,
                     "which (default: the one that failed last, else the newest)")
        ->type_name("WORKER");
    manifest_.Describe(app);
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (manifest_.IsChosen()) return manifest_.Print(context);
    const bool changes = *add_ || *pause_ || *resume_ || *remove_;
    NF_ASSIGN_OR_RETURN(
        const Connection connection,
        Connection::Open(context, {.home = changes ? Connection::Home::kToChange
                                                   : Connection::Home::kMustExist}));
    if (*add_) return Add(context, connection);
    if (*status_) return Status(context, connection);
    if (*pause_ || *resume_) return SetPaused(context, connection, pause_->parsed());
    if (*remove_) return Remove(context, connection);
    return Logs(context, connection);
  }

 private:
  CLI::App* Named(CLI::App& app, const std::string& name, const std::string& help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("pool", name_, "name of the pool")->required()->type_name("NAME");
    return command;
  }

  void DescribeAdd(CLI::App& app) {
    add_ = Named(app, "add", "Add a pool: its jobs come when members wait for what they have");
    add_->add_flag("--slurm", slurm_,
                   "of jobs of Slurm (sbatch, squeue and scancel beside the coordinator)");
    add_->add_option("--gres", gres_, "what each job gets: gpu:a100:1")->type_name("GRES");
    add_->add_option("--partition", partition_, "Slurm's partition")->type_name("NAME");
    add_->add_option("--account", account_, "Slurm's account")->type_name("NAME");
    add_->add_option("--sbatch", sbatch_,
                     "another argument of sbatch, as --sbatch=--constraint=v100; may be repeated")
        ->type_name("ARGUMENT")
        ->allow_extra_args(false);
    add_->add_option("--time", time_, "time limit of a job (default: the cluster's)")
        ->type_name("TIME");
    add_->add_option("--drain-before", drain_before_,
                     "how long before it a worker begins nothing new (default 2m)")
        ->type_name("TIME");
    add_->add_option("--min", min_, "workers that stay though nothing waits (default 0)")
        ->type_name("N");
    add_->add_option("--max", max_, "jobs at one time (default 1)")->type_name("N");
    add_->add_option("--backlog", backlog_,
                     "of them, how many may wait for the cluster (default 4)")
        ->type_name("N");
    add_->add_option("--idle", idle_, "how long a worker waits for a member (default 5m)")
        ->type_name("TIME");
    add_->add_option("--gpu-hours", gpu_hours_, "of all its jobs together; then it is paused")
        ->type_name("HOURS")
        ->check(Hours());
    add_->add_option("--class", class_,
                     "hardware class that its workers must have (default: what they have)")
        ->type_name("CLASS");
    add_->add_option("--prologue", prologue_, "a line of shell before the worker; may be repeated")
        ->type_name("LINE")
        ->allow_extra_args(false);
    add_->add_option("--worker", worker_options_,
                     "an option of noisefloor-worker, as --worker=--slots=2; may be repeated")
        ->type_name("OPTION")
        ->allow_extra_args(false);
    add_->add_option("--program", program_,
                     "noisefloor-worker on the nodes (default: the one beside this program)")
        ->type_name("PATH");
    add_->add_option("--access", access_,
                     "access file of workers on the nodes (default: worker.access where workers "
                     "look for it)")
        ->type_name("FILE");
    add_->add_option("--logs", logs_folder_,
                     "folder of what workers say, which nodes see, too (default: "
                     "~/noisefloor-fleet/POOL)")
        ->type_name("DIR");
    add_->add_flag("--dry-run", dry_run_, "only ask what the cluster would do");
  }

  absl::StatusOr<v1::PoolWish> Wish(const Context& context) const {
    if (!slurm_) return InvalidInput("fleet add: expected --slurm: other clusters have no pools");
    v1::PoolWish wish;
    wish.set_name(name_);
    wish.set_hardware(class_);
    if (!gres_.empty()) wish.add_cluster("--gres=" + gres_);
    if (!partition_.empty()) wish.add_cluster("--partition=" + partition_);
    if (!account_.empty()) wish.add_cluster("--account=" + account_);
    for (const std::string& argument : sbatch_) wish.add_cluster(argument);
    for (const std::string& option : worker_options_) wish.add_worker(option);
    wish.set_prologue(fmt::format("{}", fmt::join(prologue_, "\n")));
    const std::string usual = context.program_folder + "/noisefloor-worker";
    wish.set_program(fs::absolute(program_.empty() ? usual : program_).string());
    wish.set_access(WorkerAccessFile(context, access_));
    NF_ASSIGN_OR_RETURN(const std::string logs, LogsFolder());
    wish.set_logs(logs);
    wish.set_min(min_);
    wish.set_max(max_);
    wish.set_backlog(backlog_);
    wish.set_gpu_hours(gpu_hours_);
    const auto seconds = [](std::string_view option, const std::string& text,
                            int64_t usual_seconds) -> absl::StatusOr<int64_t> {
      return text.empty() ? usual_seconds : SecondsOf(option, text);
    };
    NF_ASSIGN_OR_RETURN(const int64_t idle, seconds("--idle", idle_, 300));
    NF_ASSIGN_OR_RETURN(const int64_t time, seconds("--time", time_, 0));
    NF_ASSIGN_OR_RETURN(const int64_t before, seconds("--drain-before", drain_before_, 120));
    wish.set_idle_seconds(static_cast<double>(idle));
    wish.set_time_limit_seconds(static_cast<double>(time));
    wish.set_drain_before_seconds(
        static_cast<double>(time == 0 && drain_before_.empty() ? 120 : before));
    return wish;
  }

  absl::StatusOr<std::string> LogsFolder() const {
    if (!logs_folder_.empty()) return fs::absolute(logs_folder_).string();
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0')
      return InvalidInput("$HOME is not set; expected --logs=DIR");
    return std::string(home) + "/noisefloor-fleet/" + name_;
  }

  absl::StatusOr<int> Add(Context& context, const Connection& connection) const {
    v1::AddPoolRequest request;
    NF_ASSIGN_OR_RETURN(*request.mutable_wish(), Wish(context));
    request.set_dry_run(dry_run_);
    NF_ASSIGN_OR_RETURN(const v1::AddPoolResponse answer,
                        connection.Ask<v1::FleetService>(&FleetStub::AddPool, request));
    const v1::PoolWish& wish = request.wish();
    if (context.Json()) {
      PrintJson(context.out, {{"pool", ToJson(wish)},
                              {"added", !dry_run_},
                              {"cluster_says", answer.cluster_says()},
                              {"script", answer.script()}});
      return kDone;
    }
    context.out << Printable(answer.cluster_says()) << "\n";
    if (dry_run_) {
      context.out << "\n" << Printable(answer.script()) << "\nnothing was added\n";
      return kDone;
    }
    context.out << fmt::format("pool {} added: up to {} when members wait for {}\n", wish.name(),
                               Counted(wish.max(), "worker"),
                               wish.hardware().empty() ? "what its workers have" : wish.hardware());
    if (wish.access().empty()) {
      context.err << fmt::format(
          "note: there is no access file: only nodes on the coordinator's own machine reach it; {} "
          "first, for others\n",
          context.Hint("access init"));
    }
    return kDone;
  }

  absl::StatusOr<int> Status(Context& context, const Connection& connection) const {
    v1::ListPoolsRequest request;
    request.set_name(name_);
    NF_ASSIGN_OR_RETURN(const v1::ListPoolsResponse answer,
                        connection.Ask<v1::FleetService>(&FleetStub::ListPools, request));
    if (context.Json()) {
      Json pools = Json::array();
      for (const v1::Pool& pool : answer.pools()) pools.push_back(ToJson(pool));
      PrintJson(context.out,
                {{"pools", std::move(pools)}, {"cluster_problem", answer.cluster_problem()}});
      return kDone;
    }
    if (!answer.cluster_problem().empty()) {
      context.err << "the cluster does not answer: " << Printable(answer.cluster_problem()) << "\n";
    }
    if (answer.pools().empty()) {
      context.out << "there is no pool\n";
      return kDone;
    }
    PrintPools(context, answer);
    if (!name_.empty()) PrintLaunches(context, answer.pools(0));
    return kDone;
  }

  static void PrintPools(Context& context, const v1::ListPoolsResponse& answer) {
    Table table(
        {"pool", "state", "classes", "jobs", "waiting", "at work", "GPU hours", "standing"});
    for (const v1::Pool& pool : answer.pools()) {
      uint32_t waiting = 0;
      uint32_t heard = 0;
      for (const v1::Launch& launch : pool.launches()) {
        waiting += launch.phase() != v1::LAUNCH_PHASE_ALIVE ? 1 : 0;
        heard += launch.heard() ? 1 : 0;
      }
      table.Add({pool.wish().name(), std::string(StateName(pool.state())),
                 pool.classes().empty() ? "-" : fmt::format("{}", fmt::join(pool.classes(), ", ")),
                 fmt::format("{} of {}", pool.launches_size(), pool.wish().max()),
                 std::to_string(waiting), std::to_string(heard),
                 fmt::format("{:.1f}", pool.gpu_hours_used()), pool.standing()});
    }
    table.Print(context);
  }

  static void PrintLaunches(Context& context, const v1::Pool& pool) {
    if (pool.launches().empty()) return;
    Table table({"worker", "job", "phase", "reason", "node", "asked for (UTC)", "began (UTC)"});
    for (const v1::Launch& launch : pool.launches()) {
      const auto shown = [](const std::string& text) { return text.empty() ? "-" : text; };
      table.Add({launch.worker(), shown(launch.job()),
                 launch.heard() ? "at work" : std::string(PhaseName(launch.phase())),
                 shown(launch.reason()), shown(launch.node()),
                 TimeText(launch.created_unix_seconds()), TimeText(launch.began_unix_seconds())});
    }
    context.out << "\n";
    table.Print(context);
  }

  absl::StatusOr<int> SetPaused(Context& context, const Connection& connection, bool paused) const {
    v1::UpdatePoolRequest request;
    request.set_name(name_);
    request.set_paused(paused);
    NF_ASSIGN_OR_RETURN(const v1::UpdatePoolResponse answer,
                        connection.Ask<v1::FleetService>(&FleetStub::UpdatePool, request));
    if (context.Json()) {
      PrintJson(context.out, ToJson(answer.pool()));
    } else {
      context.out << fmt::format("pool {}: {}\n", name_, answer.pool().standing());
    }
    return kDone;
  }

  absl::StatusOr<int> Remove(Context& context, const Connection& connection) const {
    v1::RemovePoolRequest request;
    request.set_name(name_);
    NF_ASSIGN_OR_RETURN(const v1::RemovePoolResponse answer,
                        connection.Ask<v1::FleetService>(&FleetStub::RemovePool, request));
    if (context.Json()) {
      PrintJson(context.out, {{"pool", name_}, {"jobs", answer.jobs()}});
    } else {
      context.out << fmt::format(
          "pool {}: {} {} ended; it goes when the cluster has none of them\n", name_,
          Counted(answer.jobs(), "job"), answer.jobs() == 1 ? "is" : "are");
    }
    return kDone;
  }

  absl::StatusOr<int> Logs(Context& context, const Connection& connection) const {
    v1::GetPoolLogRequest request;
    request.set_pool(name_);
    request.set_worker(worker_);
    NF_ASSIGN_OR_RETURN(const v1::GetPoolLogResponse answer,
                        connection.Ask<v1::FleetService>(&FleetStub::GetPoolLog, request));
    if (context.Json()) {
      PrintJson(context.out, {{"worker", answer.worker()},
                              {"path", answer.path()},
                              {"text", Printable(answer.text())}});
      return kDone;
    }
    context.err << answer.path() << "\n";
    PrintData(context, answer.text());
    return kDone;
  }

  CLI::App* add_ = nullptr;
  CLI::App* status_ = nullptr;
  CLI::App* pause_ = nullptr;
  CLI::App* resume_ = nullptr;
  CLI::App* remove_ = nullptr;
  CLI::App* logs_ = nullptr;
  FleetManifest manifest_;
  std::string name_;
  std::string worker_;
  std::string gres_;
  std::string partition_;
  std::string account_;
  std::string class_;
  std::string program_;
  std::string access_;
  std::string logs_folder_;
  std::string time_;
  std::string drain_before_;
  std::string idle_;
  std::vector<std::string> sbatch_;
  std::vector<std::string> prologue_;
  std::vector<std::string> worker_options_;
  uint32_t min_ = 0;
  uint32_t max_ = 1;
  uint32_t backlog_ = 4;
  double gpu_hours_ = 0;
  bool slurm_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeFleet() { return std::make_unique<Fleet>(); }

}  // namespace noisefloor::cli
