#include "worker/trainer/torch/step/reporter.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "common/base/check.h"
#include "common/files/file_system.h"
#include "common/files/sha256.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kMostWaiting = 1000;

// Of a descriptor that does not block: until it takes more, or its reader has gone.
void WaitForRoom(int file) {
  pollfd waited{.fd = file, .events = POLLOUT, .revents = 0};
  (void)poll(&waited, 1, /*timeout=*/-1);
}

absl::Status WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      WaitForRoom(file);
      continue;
    }
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
  std::string line = EventToJson(event);
  if (status_.ok()) status_ = WriteAll(events_, line + "\n");
  if (!keeps_told_) return;
  const auto* artifact = std::get_if<noisefloor::Artifact>(&event);
  if (artifact != nullptr) told_.artifacts.push_back(*artifact);
  if (artifact != nullptr || std::holds_alternative<RecordsEvent>(event)) {
    told_.lines.push_back(std::move(line));
  }
}

const Reporter::Told& Reporter::told() const {
  NF_CHECK(waiting_.empty());
  return told_;
}

void Reporter::TellAgain(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const auto event = EventFromJson(line);
    NF_CHECK(event.ok());
    if (const auto* records = std::get_if<RecordsEvent>(&*event)) sequence_ = records->sequence;
    Write(*event);
  }
}

absl::StatusOr<std::vector<Artifact>> CheckTold(const std::vector<std::string>& lines) {
  std::vector<Artifact> artifacts;
  uint64_t sequence = 0;
  for (const std::string& line : lines) {
    NF_ASSIGN_OR_RETURN(const TrainerEvent event, EventFromJson(line));
    const auto* records = std::get_if<RecordsEvent>(&event);
    const auto* artifact = std::get_if<Artifact>(&event);
    if (records == nullptr && artifact == nullptr) {
      return InvalidInput("told: an event that is neither records nor an artifact");
    }
    if (records != nullptr && records->sequence != ++sequence) {
      return InvalidInput("told: records " + std::to_string(records->sequence) + " where " +
                          std::to_string(sequence) + " were expected");
    }
    if (EventToJson(event) != line) return InvalidInput("told: a line that we do not write");
    if (artifact != nullptr) artifacts.push_back(*artifact);
  }
  return artifacts;
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
