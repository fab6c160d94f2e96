// Writes the events of one member: JSON lines on a file descriptor. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor::trainer {

// Does not own the descriptor; where that does not block, waits until it takes more. A reader that
// has gone away is not an error of the caller's: the first failed write is kept in status(), and
// later events go nowhere.
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

  // What a checkpoint keeps of an attempt, so that the next one can say the same: the lines of
  // records and artifacts, as they were told, and the artifacts once more.
  struct Told {
    std::vector<std::string> lines;
    std::vector<noisefloor::Artifact> artifacts;
  };
  // From now on; what was told before every attempt tells by itself.
  void KeepTold() { keeps_told_ = true; }
  // Nothing may be held back: between two steps nothing is.
  const Told& told() const;
  // Says again what an earlier attempt had told; the same lines, with the same numbers. Whoever
  // gives them has checked them: CheckTold. The artifacts' files are in the work folder.
  void TellAgain(const std::vector<std::string>& lines);

  const absl::Status& status() const { return status_; }
  bool told_outcome() const { return told_outcome_; }

 private:
  void Write(const TrainerEvent& event);

  const int events_;
  std::vector<Record> waiting_;
  bool keeps_told_ = false;
  Told told_;
  uint64_t sequence_ = 0;  // Of the last records event.
  bool told_outcome_ = false;
  absl::Status status_;
};

// The artifacts among `lines`. InvalidArgument unless they are records, numbered from 1 without
// gaps, and artifacts, each exactly as Reporter writes it.
absl::StatusOr<std::vector<Artifact>> CheckTold(const std::vector<std::string>& lines);

}  // namespace noisefloor::trainer
