// Writes the events of one member: JSON lines on a file descriptor. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor::trainer {

// Does not own the descriptor. A reader that has gone away is not an error of the caller's: the
// first failed write is kept in status(), and later events go nowhere.
class Reporter {
 public:
  explicit Reporter(int events) : events_(events) {}

  void Hello(const HelloEvent& hello) { Write(hello); }
  // Held back until Flush or until many have gathered.
  void Add(Record record);
  void Flush();
  // Also flushes.
  void Progress(int64_t step, int64_t step_count);
  // `path` is relative to `folder`; hashes the file, which is whole and synced.
  absl::Status Artifact(const std::string& folder, const std::string& kind,
                        const std::string& path);
  // Last; also flushes.
  void Outcome(const noisefloor::Outcome& outcome);

  const absl::Status& status() const { return status_; }
  bool told_outcome() const { return told_outcome_; }

 private:
  void Write(const TrainerEvent& event);

  const int events_;
  std::vector<Record> waiting_;
  uint64_t sequence_ = 0;  // Of the last records event.
  bool told_outcome_ = false;
  absl::Status status_;
};

}  // namespace noisefloor::trainer
