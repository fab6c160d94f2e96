#include "worker/trainer/torch/step/reporter.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/files/file_system.h"
#include "common/files/sha256.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kMostWaiting = 1000;

absl::Status WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return MakeError(absl::StatusCode::kUnavailable,
                       std::string("writing events: ") + std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

void Reporter::Write(const TrainerEvent& event) {
  if (!status_.ok()) return;
  status_ = WriteAll(events_, EventToJson(event) + "\n");
}

void Reporter::Add(Record record) {
  waiting_.push_back(std::move(record));
  if (waiting_.size() >= kMostWaiting) Flush();
}

void Reporter::Flush() {
  if (waiting_.empty()) return;
  Write(RecordsEvent{++sequence_, std::exchange(waiting_, {})});
}

void Reporter::Progress(int64_t step, int64_t step_count) {
  Flush();
  Write(ProgressEvent{step, step_count});
}

absl::Status Reporter::Artifact(const std::string& folder, const std::string& kind,
                                const std::string& path) {
  const std::string whole = folder + "/" + path;
  NF_ASSIGN_OR_RETURN(std::string sha256, Sha256File(whole));
  NF_ASSIGN_OR_RETURN(const FileInfo about, LocalFileSystem().Inspect(whole));
  Write(noisefloor::Artifact{kind, path, std::move(sha256), about.size_bytes});
  return absl::OkStatus();
}

void Reporter::Outcome(const noisefloor::Outcome& outcome) {
  Flush();
  Write(outcome);
  told_outcome_ = true;
}

}  // namespace noisefloor::trainer
