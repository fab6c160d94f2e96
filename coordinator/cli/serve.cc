#include "fmt/format.h"

#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"

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
  noisefloor serve --listen=0.0.0.0:7077 --insecure   # anybody on the network may submit)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("--listen", listen_, "address of the server (default 127.0.0.1:7077)")
        ->type_name("HOST:PORT");
    app.add_flag("--insecure", insecure_,
                 "allow an address that others can reach; there is no TLS and no token");
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: serve is a coordinator itself; use --listen");
    }
    NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(listen_));
    if (!IsLoopback(address) && !insecure_) {
      return InvalidInput(
          fmt::format("--listen={}: others could reach it and there is no TLS and no token; "
                      "expected an address on "
                      "loopback, or --insecure",
                      listen_));
    }
    OutliveReaders();
    SetUpLog({.program = "noisefloor"});
    const StopSignal stop;
    absl::StatusOr<std::unique_ptr<Coordinator>> started = context.start_coordinator(
        {.home = context.options.home, .listen = listen_, .insecure = insecure_});
    // Nobody was to be reached: what cannot be had here is refused.
    if (absl::IsUnavailable(started.status())) {
      return MakeError(absl::StatusCode::kFailedPrecondition, Message(started.status()));
    }
    NF_ASSIGN_OR_RETURN(const std::unique_ptr<Coordinator> coordinator, std::move(started));
    if (context.Json()) {
      PrintJson(context.out, {{"address", coordinator->address()}, {"home", context.options.home}});
    } else {
      context.out << "noisefloor " << NOISEFLOOR_VERSION << " listens on " << coordinator->address()
                  << ", data in " << context.options.home << "\n";
    }
    context.out.flush();
    while (!stop.WaitFor(absl::InfiniteDuration())) {
    }
    coordinator->Stop();
    if (!context.Json()) context.out << "stopped\n";
    return kDone;
  }

 private:
  std::string listen_ = "127.0.0.1:7077";
  bool insecure_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace noisefloor::cli
