// The script of a pool's jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace noisefloor {

struct ScriptWish {
  std::string pool;
  std::string nonce;
  std::string prologue;  // Lines of shell, as they are.
  std::string worker_program;
  std::vector<std::string> worker_options;
  std::string coordinator;  // "box:7077"; empty: as `access` says.
  std::string access;       // Path of an access file. No secret is in the script.
  std::string logs;         // Folder.
  absl::Duration time_limit = absl::ZeroDuration();  // Of the job; zero: the cluster's own.
};

// For bash. It names the worker POOL-NONCE-INDEX, with "-r1" behind it when the cluster has started
// the job again, writes to LOGS/NAME.log, and becomes the worker, so that signals reach it. The
// worker is told how long it lives, as far as the job knows (--lifetime).
std::string BatchScript(const ScriptWish& wish);

// One word for a shell, whatever is in it but a zero byte.
std::string ShellQuoted(std::string_view text);

}  // namespace noisefloor
