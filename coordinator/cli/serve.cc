#include "fmt/format.h"

#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/store/restore.h"

namespace noisefloor::cli {

namespace {

class Serve final : public Command {
 public:
  std::string_view Name() const override { return "serve"; }
  std::string_view Help() const override {
    return "Be the coordinator that workers and other commands talk to, until stopped";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor serve
  noisefloor serve --listen=127.0.0.1:7077 --home=/data/noisefloor
  noisefloor serve --data-root=/data/sets      # for workers that have no data themselves
  noisefloor access init --address=box:7077 && noisefloor serve   # for other machines, with TLS)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("--listen", listen_,
                   "address of the server (default 127.0.0.1:7077; once access is set up, every "
                   "address of this machine and the port of `access init`)")
        ->type_name("HOST:PORT");
    app.add_option("--metrics", metrics_,
                   "address where Prometheus reads figures, at /metrics (default: nowhere); off "
                   "loopback with TLS and a reader's token, once access is set up")
        ->type_name("HOST:PORT");
    app.add_option("--data-root", data_root_,
                   "folders with data sets that workers without them get from here, a:b (default: "
                   "$NOISEFLOOR_DATA, else data/ of the data directory)")
        ->type_name("DIRS");
    app.add_option("--cluster-poll", cluster_poll_,
                   "how often the cluster of pools is asked for their jobs (default 15s)")
        ->type_name("TIME");
    app.add_option("--log-level", log_level_, "debug, info, warning, error or off (default info)")
        ->type_name("LEVEL");
    app.add_option("--log-format", log_format_, "text or json (default text)")->type_name("FORMAT");
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: serve is a coordinator itself; use --listen");
    }
    NF_ASSIGN_OR_RETURN(const std::string listen, ListenAddress(context));
    NF_ASSIGN_OR_RETURN(const LogSettings log, Log());
    NF_ASSIGN_OR_RETURN(const int64_t poll, SecondsOf("--cluster-poll", cluster_poll_));
    if (poll == 0) return InvalidInput("--cluster-poll=0s: expected a second or more");
    if (!metrics_.empty()) NF_RETURN_IF_ERROR(CheckMetrics(context));
    NF_RETURN_IF_ERROR(CheckGivenRoots(data_root_));
    OutliveReaders();
    SetUpLog(log);
    const StopSignal stop;
    absl::StatusOr<std::unique_ptr<Coordinator>> started =
        context.start_coordinator({.home = context.options.home,
                                   .listen = listen,
                                   .use_access = true,
                                   .metrics = metrics_,
                                   .data_roots = DataRoots(context, data_root_),
                                   .cluster_poll = absl::Seconds(poll)});
    // Nobody was to be reached: what cannot be had here is refused.
    if (absl::IsUnavailable(started.status())) {
      return MakeError(absl::StatusCode::kFailedPrecondition, Message(started.status()));
    }
    NF_ASSIGN_OR_RETURN(const std::unique_ptr<Coordinator> coordinator, std::move(started));
    if (context.Json()) {
      PrintJson(context.out, {{"address", coordinator->address()},
                              {"home", context.options.home},
                              {"metrics", coordinator->metrics_address()}});
    } else {
      context.out << "noisefloor " << NOISEFLOOR_VERSION << " listens on " << coordinator->address()
                  << (AccessIsSetUp(context.options.home) ? " with TLS and tokens" : "")
                  << ", data in " << context.options.home << EpochText(context.options.home)
                  << "\n";
      if (!metrics_.empty()) {
        context.out << "metrics on " << coordinator->metrics_address() << "\n";
      }
    }
    context.out.flush();
    while (!stop.WaitFor(absl::InfiniteDuration())) {
    }
    coordinator->Stop();
    if (!context.Json()) context.out << "stopped\n";
    return kDone;
  }

 private:
  // Of a home that was restored.
  static std::string EpochText(const std::string& home) {
    const absl::StatusOr<uint32_t> epoch = ReadEpoch(home);
    return epoch.ok() && *epoch > 0 ? fmt::format(", epoch {}", *epoch) : "";
  }

  absl::StatusOr<std::string> ListenAddress(const Context& context) const {
    const std::string& home = context.options.home;
    if (listen_.empty()) {
      if (!AccessIsSetUp(home)) return "127.0.0.1:7077";
      NF_ASSIGN_OR_RETURN(const KeptAccess kept, ReadAccess(home));
      NF_ASSIGN_OR_RETURN(Address address, ParseAddress(kept.coordinator));
      if (!IsLoopback(address)) address.host = "0.0.0.0";
      return ToText(address);
    }
    NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(listen_));
    if (IsLoopback(address) || AccessIsSetUp(home)) return listen_;
    const std::string found =
        IsWildcard(address) ? fmt::format("HOST:{}", address.port) : ToText(address);
    return InvalidInput(fmt::format(
        "--listen={}: others could reach it, and access is not set up: {} makes a certificate and "
        "tokens; or expected an address on loopback",
        listen_, context.Hint("access init --address=" + found)));
  }

  absl::Status CheckMetrics(const Context& context) const {
    NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(metrics_));
    if (IsLoopback(address) || AccessIsSetUp(context.options.home)) return absl::OkStatus();
    return InvalidInput(fmt::format(
        "--metrics={}: others could read them, and access is not set up: {} makes a certificate "
        "and tokens; or expected an address on loopback",
        metrics_, context.Hint("access init")));
  }

  absl::StatusOr<LogSettings> Log() const {
    LogSettings log = {.program = "noisefloor"};
    const auto level = ParseLogLevel(log_level_);
    if (!level) {
      return InvalidInput(
          fmt::format("--log-level={}: expected debug, info, warning, error or off", log_level_));
    }
    if (log_format_ != "text" && log_format_ != "json") {
      return InvalidInput(fmt::format("--log-format={}: expected text or json", log_format_));
    }
    log.level = *level;
    if (log_format_ == "json") log.format = LogFormat::kJson;
    return log;
  }

  std::string listen_;
  std::string metrics_;
  std::string data_root_;
  std::string cluster_poll_ = "15s";
  std::string log_level_ = "info";
  std::string log_format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace noisefloor::cli
