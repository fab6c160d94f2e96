#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/printable.h"
#include "common/log/log.h"
#include "common/options/print.h"
#include "worker/daemon/options.h"
#include "worker/daemon/signals.h"
#include "worker/daemon/stacks.h"
#include "worker/daemon/state_directory.h"
#include "worker/daemon/worker.h"
#include "worker/devices/host.h"
#include "worker/slots/cores.h"

namespace noisefloor {

namespace {

constexpr absl::Duration kStateLook = absl::Milliseconds(50);

uint32_t SlotCount(const Options& options, const Host& host, size_t gpus) {
  if (options.slots > 0) return options.slots;
  if (gpus > 0) return static_cast<uint32_t>(gpus);
  return std::max(1u, static_cast<uint32_t>(host.cores.size()) / options.cores_per_slot);
}

absl::StatusOr<WorkerSettings> MakeSettings(const Options& options) {
  WorkerSettings settings;
  settings.options = options;
  NF_ASSIGN_OR_RETURN(const Host host, ReadHost());
  NF_ASSIGN_OR_RETURN(settings.offer.classes, ChooseClasses(host, options.classes));
  settings.gpus = ChooseGpus(host, settings.offer.classes);
  NF_ASSIGN_OR_RETURN(settings.offer.stacks, FindStacks(options.trainers));
  settings.offer.data_roots = options.data_roots;
  settings.name = options.name.empty() ? host.name : options.name;
  settings.unit = UnitOf(host, settings.gpus);
  const uint32_t slots = SlotCount(options, host, settings.gpus.size());
  settings.slot_cores = slots::AssignCores(host.cores, slots);
  return settings;
}

void LogStart(const WorkerSettings& settings, const StateDirectory& state) {
  std::string classes;
  std::string stacks;
  for (const OfferedClass& offer : settings.offer.classes) classes += offer.name + " ";
  for (const auto& [name, stack] : settings.offer.stacks) stacks += name + " ";
  LogInfo("worker_started", {{"name", settings.name},
                             {"process", getpid()},
                             {"state", state.path()},
                             {"slots", settings.slot_cores.size()},
                             {"unit", settings.unit},
                             {"classes", classes},
                             {"stacks", stacks}});
}

// The state directory of a worker that was told to leave is free when it has left.
absl::StatusOr<StateDirectory> OpenState(const Options& options, const Clock& clock) {
  const absl::Duration give_up = clock.Steady() + options.state_wait;
  bool said = false;
  return StateDirectory::Open(options.state, [&] {
    if (clock.Steady() >= give_up) return false;
    if (!std::exchange(said, true)) LogInfo("state_in_use", {{"state", options.state}});
    return !WaitForStopSignal(kStateLook);
  });
}

int Refuse(const absl::Status& status) {
  LogError("refused", {{"error", status}});
  return 1;
}

int Main(const std::vector<std::string>& arguments) {
  BlockStopSignals();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // Our log says what could not be reached.
  const ParsedOptions parsed = ParseOptions(arguments, FindProgramPlace());
  if (parsed.exit) {
    if (parsed.exit_code != 0) {
      std::fputs(Printable(parsed.text).c_str(), stderr);
      return parsed.exit_code;
    }
    return PrintWhole("noisefloor-worker", parsed.text);
  }
  const Options& options = parsed.options;
  SetUpLog({"noisefloor-worker", options.log_level, options.log_format});
  const SystemClock clock;
  const auto state = OpenState(options, clock);
  if (!state.ok()) return Refuse(state.status());
  auto settings = MakeSettings(options);
  if (!settings.ok()) return Refuse(settings.status());
  LogStart(*settings, *state);
  Worker worker(*std::move(settings), *state, clock);
  const StopSignals signals([&worker] { worker.Stop(); });
  return worker.Run();
}

}  // namespace

}  // namespace noisefloor

int main(int argc, char** argv) {
  return noisefloor::Main(std::vector<std::string>(argv + 1, argv + argc));
}
