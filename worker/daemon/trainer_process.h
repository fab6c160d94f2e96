// One trainer process, from its start (perhaps as a standby) to its end.
//
// A thread of its own reads its events and its output and notices its end. The process leads a
// process group, and dies with the thread that started it.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json.h"
#include "worker/daemon/fork_server.h"
#include "worker/daemon/judge.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {

// What happened to a process, in order. ProcessExit is last, and comes always.
struct TrainerLine {
  TrainerEvent event;
  std::string line;  // As it was written.
};
using TrainerNews = std::variant<TrainerLine, absl::Status, ProcessExit>;

struct TrainerCommand {
  std::vector<std::string> words;                  // [0] is the path of the program.
  std::map<std::string, std::string> environment;  // All of it, but NOISEFLOOR_EVENTS.
  std::vector<int> cores;
  ForkServer* server = nullptr;  // Forks the process; else it is started. Borrowed by Start.
  uint64_t log_limit_bytes = 16 << 20;
};

class TrainerProcess {
 public:
  // Called on the process's own thread. It may wait.
  using Sink = std::function<void(TrainerNews)>;

  // Spawns or forks; see spawn.h for the thread that may call this. The process waits for its
  // request.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Start(const TrainerCommand& command,
                                                               Sink sink);
  // Kills what still runs, waits for its end.
  ~TrainerProcess();

  // Hands over the request, once. From now on its output goes to `log_path`, with what it wrote
  // before. Aborted when the process has ended by itself; after any other failure it is killed.
  absl::Status Give(const std::string& request, const std::string& log_path);

  pid_t pid() const { return child_.pid; }
  void Terminate() { Signal(SIGTERM); }
  void Kill() { Signal(SIGKILL); }
  // The news handed to the sink have been used up to one more: at most 64 are on the way, so that
  // a trainer that talks too fast waits instead of filling our memory.
  void Consumed();

 private:
  TrainerProcess(Child child, Sink sink, uint64_t log_limit_bytes);

  absl::Status OpenLog(const std::string& path);
  absl::Status WriteRequest(const std::string& request);
  void Signal(int number);
  void Watch();       // The thread.
  bool ReadEvents();  // False at the end of the pipe.
  void ReadOutput();
  void TakeEvents(std::string_view bytes);
  void TakeLines();
  void Report(TrainerNews news);
  void WriteLog(std::string_view text);
  void EndGroup();

  const Child child_;
  const Sink sink_;
  const uint64_t log_limit_bytes_;
  int input_ = -1;   // The loop thread's; -1 once given.
  int events_ = -1;  // These belong to the thread.
  int output_ = -1;
  std::string partial_;  // A line that has not ended.
  bool broken_ = false;  // Nothing more is parsed.
  bool output_open_ = true;
  Mutex mutex_;
  CondVar consumed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // Reaped: the id may belong to somebody else.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  int on_the_way_ ABSL_GUARDED_BY(mutex_) = 0;
  int log_ ABSL_GUARDED_BY(mutex_) = -1;
  std::string early_log_ ABSL_GUARDED_BY(mutex_);  // Before there was a file.
  uint64_t logged_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace noisefloor
