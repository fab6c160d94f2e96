#include "worker/daemon/options.h"

#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/names.h"
#include "common/files/data_roots.h"
#include "common/files/directory.h"
#include "common/options/wrong_argument.h"
#include "common/rpc/find_coordinator.h"
#include "common/stacks/installed_stack.h"
#include "common/trainer_protocol/hardware_class.h"
#include "worker/daemon/stacks.h"

namespace noisefloor {

namespace {

constexpr char kExamples[] = R"(
Examples:
  noisefloor-worker --coordinator=127.0.0.1:7077
      offers every hardware class of this machine: a slot for each GPU, and for each core
  noisefloor-worker
      the same for the coordinator of the access file that `noisefloor access init` has made
  noisefloor-worker --coordinator=box:7077 --slots=2 --classes=cpu-amd-sse,cpu-amd-avx2
  noisefloor-worker --coordinator=box:7077 --trainer=torch-2.11-cu130=/opt/nf/noisefloor-trainer
  noisefloor-worker --coordinator=box:7077 --trainer="mine=/opt/env/bin/python train.py"

SIGTERM or SIGINT: finish what runs, deliver it, leave; a second one: stop what runs.
SIGUSR1, by which a cluster warns of a time limit: the same as the first, without --drain-timeout.
A coordinator that cannot be reached is tried again for ever, unless --give-up-after is given.
Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable, 4 a trainer that cannot be killed.)";

namespace fs = std::filesystem;

// Where packages have our trainer, below the folder into which they are installed.
constexpr std::string_view kPackagedTrainer = "libexec/noisefloor-trainer";

// What CLI11 fills in; texts where a wrong value deserves our own message.
struct Raw {
  std::string coordinator;
  std::string log_level = "info";
  std::string log_format = "text";
  std::vector<std::string> trainers;
  std::vector<std::string> fetch_stacks;
  double checkpoint_seconds = 60;
  double grace_seconds = 10;
  double drain_seconds = 0;
  double give_up_seconds = 0;
  double idle_seconds = 0;
  double lifetime_seconds = 0;
  double leave_seconds = 0;
  double hello_seconds = 600;
  double silence_seconds = 3600;
  double kill_seconds = 300;
  double state_wait_seconds = 0;
  uint64_t spool_limit_mib = 16384;
  bool no_standby = false;
  bool no_cache = false;
  bool version = false;
};

void AddCache(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--cache", options.cache,
                 "Folder of data sets that were read or fetched once, for all trainers and any "
                 "number of workers of this machine (default: $NOISEFLOOR_CACHE, else in --state)")
      ->type_name("DIR");
  app.add_option("--cache-limit", options.cache_limit_mib, "MiB that may lie there unused")
      ->type_name("MIB")
      ->capture_default_str();
  app.add_flag("--no-cache", raw.no_cache,
               "Read data sets anew for each member, and fetch none from the coordinator");
  app.add_option("--copy-stacks", options.copy_stacks,
                 "Folder on a shared file system that holds trainers with all that they need: it "
                 "is copied to the cache once for all workers of this machine, and trainers below "
                 "it run from the copy")
      ->type_name("DIR");
  app.add_option("--stacks", options.stacks,
                 "Stacks of noisefloor beside the one that is always there, separated by ','; "
                 "`noisefloor stacks install` gets them")
      ->type_name("STACK")
      ->delimiter(',');
  app.add_option("--fetch-stack", raw.fetch_stacks,
                 "Stack that the coordinator has (serve --stack-root), brought to the cache once "
                 "for all workers of this machine; PROGRAM: its trainer, below the stack's folder "
                 "(default: libexec/noisefloor-trainer). May be given several times")
      ->type_name("NAME[=PROGRAM]");
}

void AddState(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--state", options.state,
                 "Folder of this worker's own: results that wait for delivery, trainers' files")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--state-temporary", options.state_is_temporary,
               "Remove the folder of --state when the worker leaves with nothing undelivered");
  app.add_option("--state-wait", raw.state_wait_seconds,
                 "Seconds to wait for another worker to leave the folder of --state")
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddLeaving(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--give-up-after", raw.give_up_seconds,
                 "Seconds without a coordinator until the program ends with code 3; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option(
         "--stopped-code", options.stopped_code,
         "Exit code of a worker that SIGTERM or SIGINT ended: where a scheduler takes 0 for "
         "the end of the work, it starts another for this")
      ->type_name("CODE")
      ->check(CLI::Range(0, 125))
      ->capture_default_str();
  app.add_option("--idle-timeout", raw.idle_seconds,
                 "Seconds without a member until the worker leaves; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--lifetime", raw.lifetime_seconds,
                 "Seconds until a cluster ends this worker: what would take longer is not begun "
                 "here, unless it can go on elsewhere; 0: nobody ends it")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--leave-after", raw.leave_seconds,
                 "Seconds from the start until the worker begins nothing new, and leaves when what "
                 "runs has ended; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddCheckpoints(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--checkpoints", options.checkpoints,
                 "Folder in which interrupted members go on, where their trainers keep "
                 "checkpoints; workers of one coordinator may share it (default: in --state)")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", raw.checkpoint_seconds,
                 "Seconds from one checkpoint of a member to the next, which is what a killed "
                 "trainer costs at most; 0: only when it is asked to stop")
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddOptions(CLI::App& app, Options& options, Raw& raw) {
  app.add_option(
         "--coordinator", raw.coordinator,
         "The coordinator (default: $NOISEFLOOR_COORDINATOR, else that of the access file in "
         "$NOISEFLOOR_ACCESS or ~/.config/noisefloor/access)")
      ->type_name("HOST:PORT");
  app.add_option("--name", options.name, "Name in the fleet (default: the host's name)")
      ->type_name("NAME");
  app.add_option("--host", options.host,
                 "Name of the machine, where the system's is that of a container (default: the "
                 "system's): workers of one machine share its processors as a unit")
      ->type_name("NAME");
  AddState(app, options, raw);
  AddCheckpoints(app, options, raw);
  app.add_option("--classes", options.classes,
                 "Hardware classes to offer, separated by ',' (default: all)")
      ->type_name("CLASS")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--declare", options.declared,
                 "What this machine is, where noisefloor cannot find it out (tpu-v4, mi300, "
                 "arm-neoverse): the one class it offers, in one slot unless --slots says more")
      ->type_name("CLASS");
  app.add_option("--data-root", options.data_roots,
                 "Folders that hold the data sets' folders, a:b (default: $NOISEFLOOR_DATA); the "
                 "sample that comes with noisefloor is always found")
      ->type_name("DIR")
      ->delimiter(':')
      ->allow_extra_args(false);
  app.add_option("--trainer", raw.trainers,
                 "A trainer that may run here, by the stack it is built for: a program, or a "
                 "command such as \"mine=python train.py\"; noop; or ours, the "
                 "noisefloor-trainer beside this program (default: ours); may be repeated")
      ->type_name("STACK=COMMAND")
      ->allow_extra_args(false);
  app.add_option("--grace", raw.grace_seconds,
                 "Seconds that a trainer has to end once it was asked to stop or has said its "
                 "outcome; then it is killed")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--drain-timeout", raw.drain_seconds,
                 "Seconds after SIGTERM until what runs is stopped; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
  AddLeaving(app, options, raw);
  app.add_option("--spool-limit", raw.spool_limit_mib, "MiB that may wait for delivery")
      ->type_name("MIB")
      ->capture_default_str();
  app.add_flag("--no-standby", raw.no_standby,
               "Do not load trainers ahead of time: neither the next one nor one to fork from");
  AddCache(app, options, raw);
  app.add_option("--log-level", raw.log_level, "debug, info, warning, error or off")
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_option("--log-format", raw.log_format, "text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_flag("--version", raw.version, "Print the version and exit");
}

void AddSlots(CLI::App& app, LayoutWish& layout) {
  app.add_option("--slots", layout.cpu_slots,
                 "Trainers side by side on the processors (default: cores that GPUs leave / cores "
                 "per slot)")
      ->type_name("N");
  app.add_option("--cores-per-slot", layout.cores_per_slot, "For the default of --slots")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--gpus-per-slot", layout.gpus_per_slot,
                 "GPUs that one trainer gets; with N of them the class is nvidia-MODEL-xN")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--slots-per-gpu", layout.slots_per_gpu, "Trainers side by side on each GPU")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--cores-per-gpu-slot", layout.cores_per_gpu,
                 "Cores that go with a slot of GPUs (default: all in equal parts, or up to 4 when "
                 "processors have slots, too)")
      ->type_name("N");
}

void AddTrainerTimeouts(CLI::App& app, Raw& raw) {
  app.add_option("--hello-timeout", raw.hello_seconds,
                 "Seconds from a trainer's start, or its last word that it reads its data, to its "
                 "hello, then it hangs and is ended; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--silence-timeout", raw.silence_seconds,
                 "Seconds between two words of a trainer, then it hangs and is ended; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--kill-timeout", raw.kill_seconds,
                 "Seconds that a killed trainer has to be gone; then it hangs in the kernel, its "
                 "member is given back, and this worker leaves when its others are done; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str();
}

absl::StatusOr<absl::Duration> Seconds(std::string_view option, double seconds,
                                       bool zero_is_never) {
  if (!(seconds >= 0 && seconds <= 1e9)) {
    return InvalidInput(fmt::format("{}={}: expected seconds from 0 to 1e9", option, seconds));
  }
  if (zero_is_never && seconds == 0) return absl::InfiniteDuration();
  return absl::Seconds(seconds);
}

absl::Status CheckLayout(const LayoutWish& layout) {
  const auto check = [](std::string_view option, uint32_t value, uint32_t least, uint32_t most) {
    if (value >= least && value <= most) return absl::OkStatus();
    return InvalidInput(fmt::format("{}={}: expected 1 to {}", option, value, most));
  };
  NF_RETURN_IF_ERROR(check("--slots", layout.cpu_slots, 0, 512));
  NF_RETURN_IF_ERROR(check("--cores-per-slot", layout.cores_per_slot, 1, 4096));
  NF_RETURN_IF_ERROR(check("--gpus-per-slot", layout.gpus_per_slot, 1, 64));
  NF_RETURN_IF_ERROR(check("--slots-per-gpu", layout.slots_per_gpu, 1, 8));
  NF_RETURN_IF_ERROR(check("--cores-per-gpu-slot", layout.cores_per_gpu, 0, 4096));
  if (layout.gpus_per_slot == 1 || layout.slots_per_gpu == 1) return absl::OkStatus();
  return InvalidInput("--gpus-per-slot and --slots-per-gpu: expected only one of them above 1");
}

absl::Status CheckNumbers(const Raw& raw, Options& options) {
  NF_RETURN_IF_ERROR(CheckLayout(options.layout));
  NF_ASSIGN_OR_RETURN(options.grace, Seconds("--grace", raw.grace_seconds, false));
  NF_ASSIGN_OR_RETURN(options.checkpoint_every,
                      Seconds("--checkpoint-every", raw.checkpoint_seconds, true));
  NF_ASSIGN_OR_RETURN(options.drain_timeout, Seconds("--drain-timeout", raw.drain_seconds, true));
  NF_ASSIGN_OR_RETURN(options.give_up_after, Seconds("--give-up-after", raw.give_up_seconds, true));
  NF_ASSIGN_OR_RETURN(options.idle_timeout, Seconds("--idle-timeout", raw.idle_seconds, true));
  NF_ASSIGN_OR_RETURN(options.lifetime, Seconds("--lifetime", raw.lifetime_seconds, true));
  NF_ASSIGN_OR_RETURN(options.leave_after, Seconds("--leave-after", raw.leave_seconds, true));
  NF_ASSIGN_OR_RETURN(options.hello_timeout, Seconds("--hello-timeout", raw.hello_seconds, true));
  NF_ASSIGN_OR_RETURN(options.silence_timeout,
                      Seconds("--silence-timeout", raw.silence_seconds, true));
  NF_ASSIGN_OR_RETURN(options.kill_timeout, Seconds("--kill-timeout", raw.kill_seconds, true));
  NF_ASSIGN_OR_RETURN(options.state_wait, Seconds("--state-wait", raw.state_wait_seconds, false));
  if (raw.spool_limit_mib == 0 || raw.spool_limit_mib > (uint64_t{1} << 30)) {
    return InvalidInput(
        fmt::format("--spool-limit={}: expected 1 to 1073741824 MiB", raw.spool_limit_mib));
  }
  options.spool_limit_bytes = raw.spool_limit_mib << 20;
  if (options.cache_limit_mib == 0 || options.cache_limit_mib > (uint64_t{1} << 30)) {
    return InvalidInput(
        fmt::format("--cache-limit={}: expected 1 to 1073741824 MiB", options.cache_limit_mib));
  }
  return absl::OkStatus();
}

absl::Status CheckCopyStacks(const Options& options) {
  if (options.copy_stacks.empty()) return absl::OkStatus();
  if (!options.use_cache) return InvalidInput("--copy-stacks and --no-cache: expected one of them");
  std::error_code error;
  if (fs::is_directory(options.copy_stacks, error)) return absl::OkStatus();
  return InvalidInput(
      fmt::format("--copy-stacks={}: there is no such folder", options.copy_stacks));
}

absl::Status AddFetchedStacks(const Raw& raw, Options& options) {
  if (!raw.fetch_stacks.empty() && !options.use_cache) {
    return InvalidInput("--fetch-stack and --no-cache: expected one of them");
  }
  for (const std::string& text : raw.fetch_stacks) {
    NF_ASSIGN_OR_RETURN(options.fetch_stacks.emplace_back(), ParseStackWish(text));
  }
  return absl::OkStatus();
}

absl::Status CheckDeclared(const Options& options) {
  if (options.declared.empty()) return absl::OkStatus();
  const auto hardware = ParseHardwareClass(options.declared, /*kernels_fixed=*/true);
  if (!hardware.ok() || !hardware->declared) {
    return InvalidInput(
        fmt::format("--declare={}: expected lower-case letters, digits, '-' and '.', with a digit "
                    "or a '-', and no class of processors or NVIDIA GPUs, which are found",
                    options.declared));
  }
  if (options.classes.empty()) return absl::OkStatus();
  return InvalidInput("--declare and --classes: expected only one of them");
}

absl::Status CheckLog(const Raw& raw, Options& options) {
  const auto level = ParseLogLevel(raw.log_level);
  if (!level) {
    return InvalidInput(
        fmt::format("--log-level={}: expected debug, info, warning, error or off", raw.log_level));
  }
  if (raw.log_format != "text" && raw.log_format != "json") {
    return InvalidInput(fmt::format("--log-format={}: expected text or json", raw.log_format));
  }
  options.log_level = *level;
  options.log_format = raw.log_format == "json" ? LogFormat::kJson : LogFormat::kKeyValue;
  return absl::OkStatus();
}

absl::Status CheckName(const std::string& name) {
  if (name.empty() || IsName(name)) return absl::OkStatus();
  return InvalidInput(
      fmt::format("--name={}: expected at most 100 letters, digits, '-', '_' or '.'", name));
}

// As a shell does, without running anything; none where it cannot.
std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  wordexp_t split{};
  if (wordexp(text.c_str(), &split, WRDE_NOCMD | WRDE_UNDEF) != 0) return words;
  words.assign(split.we_wordv, split.we_wordv + split.we_wordc);
  wordfree(&split);
  return words;
}

// Those that are installed, with a trainer of this build.
absl::Status AddStacks(const ProgramPlace& place, Options& options) {
  const std::string programs = fs::path(place.executable).parent_path().string();
  for (const std::string& name : options.stacks) {
    if (name == DefaultStack()) continue;  // Ours.
    const KnownStack* stack = FindKnownStack(name);
    if (stack == nullptr) {
      std::vector<std::string> names;
      for (const KnownStack& known : KnownStacks()) names.push_back(known.name);
      return InvalidInput(fmt::format("--stacks={}: expected stacks of noisefloor: {}", name,
                                      fmt::join(names, ", ")));
    }
    const std::string folder = StacksFolder(place.noisefloor_cache) + "/" + name;
    NF_RETURN_IF_ERROR(PlaceTrainer(programs, folder, *stack));
    options.trainers.insert({name, {PlacedTrainer(folder)}});
  }
  return absl::OkStatus();
}

absl::Status AddTrainers(const Raw& raw, const ProgramPlace& place, Options& options) {
  bool ours = raw.trainers.empty() && raw.fetch_stacks.empty();
  for (const std::string& text : raw.trainers) {
    if (text == "ours") {
      ours = true;
      continue;
    }
    NF_ASSIGN_OR_RETURN(auto trainer, ParseTrainer(text));
    options.trainers.insert(std::move(trainer));
  }
  if (!ours) return absl::OkStatus();
  const fs::path beside = fs::path(place.executable).parent_path() / "noisefloor-trainer";
  if (!PathExists(beside.string())) {
    if (!options.trainers.empty() || !options.fetch_stacks.empty()) return absl::OkStatus();
    return InvalidInput(fmt::format("no trainer: there is no {}; expected --trainer=STACK=COMMAND",
                                    beside.string()));
  }
  options.trainers.insert({"", {beside.string()}});
  return absl::OkStatus();
}

void AddDataRoots(const ProgramPlace& place, Options& options) {
  if (options.data_roots.empty()) options.data_roots = SplitDataRoots(place.noisefloor_data);
  AddBundledDataRoots(fs::path(place.executable).parent_path().string(), options.data_roots);
}

absl::Status NameCoordinator(const Raw& raw, const ProgramPlace& place, Options& options) {
  NF_ASSIGN_OR_RETURN(const std::optional<FoundCoordinator> found,
                      FindCoordinator({.option = raw.coordinator,
                                       .environment = place.noisefloor_coordinator,
                                       .places = place.access_places,
                                       .user = AccessUser::kWorker}));
  if (!found) {
    return InvalidInput(
        "which coordinator? expected --coordinator=HOST:PORT, $NOISEFLOOR_COORDINATOR, or an "
        "access file in $NOISEFLOOR_ACCESS or ~/.config/noisefloor/access");
  }
  NF_ASSIGN_OR_RETURN(options.coordinator, ParseAddress(found->address));
  options.access_file = found->access_path;
  const bool said = !raw.coordinator.empty() || !place.noisefloor_coordinator.empty();
  options.follows = !said && !found->access_path.empty();
  return absl::OkStatus();
}

absl::Status Finish(const Raw& raw, const ProgramPlace& place, Options& options) {
  NF_RETURN_IF_ERROR(NameCoordinator(raw, place, options));
  options.standby = !raw.no_standby;
  options.use_cache = !raw.no_cache;
  if (options.cache.empty()) options.cache = place.noisefloor_cache;
  if (!options.cache.empty()) options.cache = fs::absolute(options.cache).string();
  if (!options.checkpoints.empty()) {
    options.checkpoints = fs::absolute(options.checkpoints).string();
  }
  NF_RETURN_IF_ERROR(CheckName(options.name));
  NF_RETURN_IF_ERROR(CheckNumbers(raw, options));
  NF_RETURN_IF_ERROR(CheckDeclared(options));
  NF_RETURN_IF_ERROR(CheckCopyStacks(options));
  NF_RETURN_IF_ERROR(AddFetchedStacks(raw, options));
  NF_RETURN_IF_ERROR(CheckLog(raw, options));
  AddDataRoots(place, options);
  NF_RETURN_IF_ERROR(AddTrainers(raw, place, options));
  return AddStacks(place, options);
}

ParsedOptions Exit(int code, std::string text) {
  ParsedOptions parsed;
  parsed.exit = true;
  parsed.exit_code = code;
  parsed.text = std::move(text);
  return parsed;
}

ParsedOptions Mistake(std::string_view message) {
  return Exit(2, fmt::format("noisefloor-worker: {}\nSee `noisefloor-worker --help`.\n", message));
}

}  // namespace

ProgramPlace FindProgramPlace() {
  std::error_code error;
  ProgramPlace place;
  place.executable = fs::read_symlink("/proc/self/exe", error).string();
  if (const char* data = std::getenv("NOISEFLOOR_DATA")) place.noisefloor_data = data;
  if (const char* cache = std::getenv("NOISEFLOOR_CACHE")) place.noisefloor_cache = cache;
  if (const char* address = std::getenv("NOISEFLOOR_COORDINATOR")) {
    place.noisefloor_coordinator = address;
  }
  place.access_places = AccessPlacesOfThisProcess();
  return place;
}

absl::StatusOr<std::pair<std::string, std::vector<std::string>>> ParseTrainer(
    std::string_view text) {
  if (text == kNoopStack) return std::pair(std::string(text), std::vector<std::string>());
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return InvalidInput(fmt::format("--trainer={}: expected STACK=COMMAND, noop or ours", text));
  }
  const std::string command(text.substr(equals + 1));
  std::vector<std::string> words =
      PathExists(command) ? std::vector<std::string>{command} : SplitWords(command);
  if (words.empty()) {
    return InvalidInput(
        fmt::format("--trainer={}: expected a path or a command of plain words", text));
  }
  return std::pair(std::string(text.substr(0, equals)), std::move(words));
}

absl::StatusOr<StackWish> ParseStackWish(std::string_view text) {
  const size_t equals = text.find('=');
  StackWish wish = {
      .name = std::string(text.substr(0, equals)),
      .program = std::string(equals == text.npos ? kPackagedTrainer : text.substr(equals + 1))};
  if (IsName(wish.name) && wish.name[0] != '.' && !wish.program.empty()) return wish;
  return InvalidInput(fmt::format(
      "--fetch-stack={}: expected NAME, or NAME=PROGRAM with a path below the stack's folder",
      text));
}

ParsedOptions ParseOptions(const std::vector<std::string>& arguments, const ProgramPlace& place) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.state = "./noisefloor-worker-state";
  Raw raw;
  CLI::App app("Trains members for a noisefloor coordinator on this machine.", "noisefloor-worker");
  app.footer(kExamples);
  AddOptions(app, options, raw);
  AddSlots(app, options.layout);
  AddTrainerTimeouts(app, raw);
  try {
    std::vector<std::string> words = WithEmptyValues(arguments);
    std::ranges::reverse(words);
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return Exit(0, app.help());
  } catch (const CLI::ParseError& error) {
    return Mistake(UsageMessage(app, error));
  }
  if (raw.version) return Exit(0, "noisefloor-worker " NOISEFLOOR_VERSION "\n");
  if (const std::string empty = EmptyValue(app); !empty.empty()) return Mistake(empty);
  for (const auto& [option, value] :
       {std::pair("--slots", options.layout.cpu_slots),
        std::pair("--cores-per-gpu-slot", options.layout.cores_per_gpu)}) {
    if (app.count(option) > 0 && value == 0) {
      return Mistake(fmt::format("{}=0: expected 1 or more", option));
    }
  }
  if (const absl::Status status = Finish(raw, place, options); !status.ok()) {
    return Mistake(Message(status));
  }
  return parsed;
}

}  // namespace noisefloor
