#include "fmt/format.h"

#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/commands.h"
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
  noisefloor access init --address=box:7077 && noisefloor serve   # for other machines, with TLS)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("--listen", listen_,
                   "address of the server (default 127.0.0.1:7077; once access is set up, every "
                   "address of this machine and the port of `access init`)")
        ->type_name("HOST:PORT");
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: serve is a coordinator itself; use --listen");
    }
    NF_ASSIGN_OR_RETURN(const std::string listen, ListenAddress(context));
    OutliveReaders();
    SetUpLog({.program = "noisefloor"});
    const StopSignal stop;
    absl::StatusOr<std::unique_ptr<Coordinator>> started = context.start_coordinator(
        {.home = context.options.home, .listen = listen, .use_access = true});
    // Nobody was to be reached: what cannot be had here is refused.
    if (absl::IsUnavailable(started.status())) {
      return MakeError(absl::StatusCode::kFailedPrecondition, Message(started.status()));
    }
    NF_ASSIGN_OR_RETURN(const std::unique_ptr<Coordinator> coordinator, std::move(started));
    if (context.Json()) {
      PrintJson(context.out, {{"address", coordinator->address()}, {"home", context.options.home}});
    } else {
      context.out << "noisefloor " << NOISEFLOOR_VERSION << " listens on " << coordinator->address()
                  << (AccessIsSetUp(context.options.home) ? " with TLS and tokens" : "")
                  << ", data in " << context.options.home << EpochText(context.options.home)
                  << "\n";
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

  std::string listen_;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace noisefloor::cli
