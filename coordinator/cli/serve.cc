#include <limits>
#include <optional>

#include "fmt/format.h"

#include "common/files/data_roots.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/handover.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/store/restore.h"

namespace noisefloor::cli {

namespace {

constexpr std::string_view kNoPage = "off";

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
  noisefloor access init --address=box:7077 && noisefloor serve   # for other machines, with TLS
  noisefloor serve --home=/local/study --handover=/shared   # another one goes on with it)";
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
    app.add_option("--page", page_,
                   "address of the page for browsers, or off (default: on loopback, at the port "
                   "after that of --listen or, where that is taken, a free one); off loopback with "
                   "TLS and a reader's token, once access is set up")
        ->type_name("HOST:PORT");
    app.add_option("--data-root", data_root_,
                   "folders with data sets that workers without them get from here, a:b (default: "
                   "$NOISEFLOOR_DATA, else data/ of the data directory)")
        ->type_name("DIRS");
    app.add_option("--stack-root", stack_root_,
                   "folders of stacks that workers get from here with --fetch-stack, a:b (default: "
                   "none)")
        ->type_name("DIRS");
    app.add_option("--cluster-poll", cluster_poll_,
                   "how often the cluster of pools is asked for their jobs (default 15s)")
        ->type_name("TIME");
    app.add_option("--handover", handover_.folder,
                   "folder that other machines see, too: takes the data over from the coordinator "
                   "that serves with it, and hands them over at its own end (SIGUSR1, SIGTERM, or "
                   "when a successor comes)")
        ->type_name("DIR");
    app.add_option("--host", handover_.host,
                   "with --handover: name or address by which others reach this machine (default: "
                   "its name)")
        ->type_name("HOST");
    app.add_option("--handover-wait", patience_,
                   "how long a coordinator that does not answer is waited for (default 2m)")
        ->type_name("TIME");
    app.add_option("--log-level", log_level_, "debug, info, warning, error or off (default info)")
        ->type_name("LEVEL");
    app.add_option("--log-format", log_format_, "text or json (default text)")->type_name("FORMAT");
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: serve is a coordinator itself; use --listen");
    }
    NF_ASSIGN_OR_RETURN(const LogSettings log, Log());
    NF_RETURN_IF_ERROR(ReadTimes());
    for (const std::string& address : {listen_, metrics_, page_ == kNoPage ? "" : page_}) {
      if (!address.empty()) NF_RETURN_IF_ERROR(ParseAddress(address).status());
    }
    NF_RETURN_IF_ERROR(CheckGivenRoots("--data-root", data_root_));
    NF_RETURN_IF_ERROR(CheckGivenRoots("--stack-root", stack_root_));
    OutliveReaders();
    SetUpLog(log);
    const StopSignal stop(/*also_warning=*/!handover_.folder.empty());
    std::optional<Handover> handover;
    if (!handover_.folder.empty()) {
      NF_ASSIGN_OR_RETURN(handover, Handover::Take(context, handover_, stop));
    }
    absl::StatusOr<std::unique_ptr<Coordinator>> started = Start(context, handover);
    if (!started.ok() && handover) handover->GiveBack();
    NF_ASSIGN_OR_RETURN(const std::unique_ptr<Coordinator> coordinator, std::move(started));
    if (handover) handover->PointToIt(*coordinator);
    Say(context, *coordinator, handover);
    if (handover) {
      handover->WaitForTheEnd();
    } else {
      while (!stop.WaitFor(absl::InfiniteDuration())) {
      }
    }
    coordinator->Stop();
    // It still has the lock: nobody opens the home before that is done.
    if (handover) NF_RETURN_IF_ERROR(handover->Finish());
    if (!context.Json()) context.out << (handover ? "handed over\n" : "stopped\n");
    return kDone;
  }

 private:
  absl::Status ReadTimes() {
    NF_ASSIGN_OR_RETURN(const int64_t poll, SecondsOf("--cluster-poll", cluster_poll_));
    if (poll == 0) return InvalidInput("--cluster-poll=0s: expected a second or more");
    poll_ = absl::Seconds(poll);
    NF_ASSIGN_OR_RETURN(const int64_t patience, SecondsOf("--handover-wait", patience_));
    handover_.patience = absl::Seconds(patience);
    if (!handover_.folder.empty() || handover_.host.empty()) return absl::OkStatus();
    return InvalidInput(fmt::format(
        "--host={}: is for --handover; `access init --address` says where others find a "
        "coordinator that stays",
        handover_.host));
  }

  absl::StatusOr<std::unique_ptr<Coordinator>> Start(Context& context,
                                                     const std::optional<Handover>& handover) {
    NF_ASSIGN_OR_RETURN(const std::string listen, ListenAddress(context));
    NF_RETURN_IF_ERROR(CheckReach(context, "--metrics", metrics_));
    NF_RETURN_IF_ERROR(CheckReach(context, "--page", page_ == kNoPage ? "" : page_));
    CoordinatorOptions options = {.home = context.options.home,
                                  .listen = listen,
                                  .use_access = true,
                                  .metrics = metrics_,
                                  .page = PageAddress(listen),
                                  .page_at_any_port = page_.empty(),
                                  .data_roots = DataRoots(context, data_root_),
                                  .stack_roots = SplitDataRoots(stack_root_),
                                  .cluster_poll = poll_};
    if (handover) {
      NF_ASSIGN_OR_RETURN(options.host, handover->HostAt(listen));
    }
    absl::StatusOr<std::unique_ptr<Coordinator>> started = context.start_coordinator(options);
    // Nobody was to be reached: what cannot be had here is refused.
    if (absl::IsUnavailable(started.status())) {
      return MakeError(absl::StatusCode::kFailedPrecondition, Message(started.status()));
    }
    return started;
  }

  void Say(Context& context, const Coordinator& coordinator,
           const std::optional<Handover>& handover) const {
    const std::string& home = context.options.home;
    if (context.Json()) {
      Json said = {{"address", coordinator.address()},
                   {"home", home},
                   {"metrics", coordinator.metrics_address()},
                   {"page", coordinator.page_url()}};
      if (handover) said["term"] = handover->term();
      PrintJson(context.out, said);
    } else {
      context.out << "noisefloor " << NOISEFLOOR_VERSION << " listens on " << coordinator.address()
                  << (AccessIsSetUp(home) ? " with TLS and tokens" : "") << ", data in " << home
                  << EpochText(home) << (handover ? fmt::format(", term {}", handover->term()) : "")
                  << "\n";
      if (!metrics_.empty()) context.out << "metrics on " << coordinator.metrics_address() << "\n";
      if (!coordinator.page_url().empty()) {
        context.out << "page: " << coordinator.page_url() << "\n";
      }
    }
    context.out.flush();
  }

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

  // `address`: empty: nothing is served there.
  static absl::Status CheckReach(const Context& context, std::string_view option,
                                 const std::string& address) {
    if (address.empty() || AccessIsSetUp(context.options.home)) {
      return absl::OkStatus();
    }
    NF_ASSIGN_OR_RETURN(const Address where, ParseAddress(address));
    if (IsLoopback(where)) return absl::OkStatus();
    return InvalidInput(fmt::format(
        "{}={}: others could read there, and access is not set up: {} makes a certificate and "
        "tokens; or expected an address on loopback",
        option, address, context.Hint("access init")));
  }

  std::string PageAddress(const std::string& listen) const {
    if (page_ == kNoPage) return "";
    if (!page_.empty()) return page_;
    const absl::StatusOr<Address> address = ParseAddress(listen);
    const uint16_t port = address.ok() ? address->port : 0;
    const bool next = port != 0 && port != std::numeric_limits<uint16_t>::max();
    return ToText(Address{"127.0.0.1", static_cast<uint16_t>(next ? port + 1 : 0)});
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
  std::string page_;
  std::string data_root_;
  std::string stack_root_;
  std::string cluster_poll_ = "15s";
  std::string patience_ = "2m";
  HandoverWish handover_;
  absl::Duration poll_;
  std::string log_level_ = "info";
  std::string log_format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace noisefloor::cli
