// A program that we start beside us and that dies with us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor::cli {

// Forks a process that gets SIGTERM when this thread ends, and becomes what `become` makes of it:
// async-signal-safe calls only, the last one of exec's, which returns where it fails. 0, or the
// errno of what failed.
int ForkAndExec(const std::function<void()>& become, pid_t& process);

// Waits. The exit code, or 128 + the signal that ended it.
int WaitFor(pid_t process);

struct ChildSettings {
  std::string program;                           // Path.
  std::vector<std::string> arguments = {};       // Without the program's name.
  std::map<std::string, std::string> variables;  // Besides ours,
  bool clean = false;    // of which only those pass that find programs and libraries.
  std::string log_path;  // Standard output and error, appended.
  int input = -1;        // Its standard input; -1: nothing to read.
  int keep = -1;         // Stays open in the child, same number.
};

// Owns the process: a running one is killed and waited for at the end. Start it from a thread that
// outlives it, since the parent-death signal hangs on that thread. Not thread-safe.
class ChildProcess {
 public:
  static absl::StatusOr<ChildProcess> Start(const ChildSettings& settings);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Readable when it has ended; for poll().
  int ended_file() const { return ended_file_; }
  bool Ended() const;
  void Signal(int number) const;
  // Waits. The exit code, or 128 + the signal that ended it.
  int Wait();
  // SIGTERM, then SIGKILL after `grace`; waits.
  void Stop(absl::Duration grace, int hurry = -1);
  // The last lines that its log has got since it began, for a message; empty when it cannot be
  // read.
  std::string EndOfLog(size_t lines) const;

 private:
  ChildProcess(pid_t process, int ended_file, std::string log_path, int64_t log_begin)
      : process_(process),
        ended_file_(ended_file),
        log_path_(std::move(log_path)),
        log_begin_(log_begin) {}

  pid_t process_ = -1;  // -1 when waited for.
  int ended_file_ = -1;
  int exit_code_ = 0;
  std::string log_path_;
  int64_t log_begin_ = 0;  // Bytes that were there before.
};

}  // namespace noisefloor::cli
