// The command line of noisefloor-worker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/access/access_file.h"
#include "common/base/status.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "worker/devices/layout.h"

namespace noisefloor {

// A stack that the coordinator has.
struct StackWish {
  std::string name;     // Of the coordinator's folder, and what its trainer says.
  std::string program;  // Path below that folder.
  friend bool operator==(const StackWish&, const StackWish&) = default;
};

struct Options {
  Address coordinator;
  std::string access_file;  // Path; empty: plain text, no token.
  bool follows = false;     // The address is that of the access file, whatever it says by now.
  std::string name;         // Empty: the host's.
  std::string state;        // The state directory.
  std::string host;         // Of the machine; empty: the system's.
  bool state_is_temporary = false;  // It goes with the worker, but for what is undelivered.
  absl::Duration state_wait = absl::ZeroDuration();  // For another worker to leave it.
  LayoutWish layout;                                 // Of slots.
  std::vector<std::string> classes;                  // Empty: all.
  std::string declared;                              // Host::declared.
  std::vector<std::string> data_roots;               // In the order in which they are searched.
  // Stack to the words of its command; an empty stack: ask it.
  std::multimap<std::string, std::vector<std::string>> trainers;
  std::string checkpoints;                              // Absolute; empty: in the state directory.
  absl::Duration checkpoint_every = absl::Seconds(60);  // Infinite: only when asked to stop.
  absl::Duration grace = absl::Seconds(10);
  absl::Duration drain_timeout = absl::InfiniteDuration();
  absl::Duration give_up_after = absl::InfiniteDuration();
  absl::Duration idle_timeout = absl::InfiniteDuration();
  absl::Duration lifetime = absl::InfiniteDuration();     // From its start; then a cluster ends it.
  absl::Duration leave_after = absl::InfiniteDuration();  // From the start: nothing new is begun.
  absl::Duration hello_timeout = absl::InfiniteDuration();
  absl::Duration silence_timeout = absl::InfiniteDuration();
  absl::Duration kill_timeout = absl::InfiniteDuration();
  int stopped_code = 0;  // With which it leaves when a signal ended it.
  bool standby = true;
  bool use_cache = true;
  std::string cache;  // Absolute; empty: in the state directory.
  uint64_t cache_limit_mib = 4096;
  std::string copy_stacks;  // A folder, which exists; empty: trainers run from where they lie.
  std::vector<std::string> stacks;      // Of noisefloor's, beside that of `trainers`: installed.
  std::vector<StackWish> fetch_stacks;  // With programs that `trainers` does not have.
  uint64_t spool_limit_bytes = 0;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kKeyValue;
};

// Where this program lies, and what it takes from its environment.
struct ProgramPlace {
  std::string executable;                   // Absolute path of this program.
  std::string noisefloor_data;              // $NOISEFLOOR_DATA, or empty.
  std::string noisefloor_cache;             // $NOISEFLOOR_CACHE, or empty.
  std::string noisefloor_coordinator = {};  // $NOISEFLOOR_COORDINATOR, or empty.
  AccessPlaces access_places = {};
};
ProgramPlace FindProgramPlace();

// What the command line asks for, or what to print and with which code to exit.
struct ParsedOptions {
  Options options;
  bool exit = false;
  int exit_code = 0;
  std::string text;  // Help and version go to standard output, complaints to standard error.
};
// Pure but for looking whether default files exist, reading the access file, and bringing the
// trainers of stacks up to date.
ParsedOptions ParseOptions(const std::vector<std::string>& arguments, const ProgramPlace& place);

// "STACK=PATH", "STACK=COMMAND WITH WORDS", as a shell takes them apart where there is no such
// path, or "noop", which has no words. InvalidArgument otherwise. Looks whether the path exists.
absl::StatusOr<std::pair<std::string, std::vector<std::string>>> ParseTrainer(
    std::string_view text);

// "NAME" or "NAME=PROGRAM"; without a program that of our packages. InvalidArgument otherwise.
// Pure.
absl::StatusOr<StackWish> ParseStackWish(std::string_view text);

}  // namespace noisefloor
