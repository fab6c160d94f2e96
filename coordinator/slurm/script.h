// The script of a pool's jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
};

// For bash. It names the worker POOL-NONCE-INDEX, with "-r1" behind it when the cluster has started
// the job again, writes to LOGS/NAME.log, and becomes the worker, so that signals reach it.
std::string BatchScript(const ScriptWish& wish);

// One word for a shell, whatever is in it but a zero byte.
std::string ShellQuoted(std::string_view text);

}  // namespace noisefloor
