#include "worker/trainer/torch/step/checkpointer.h"

#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "worker/trainer/checkpoint/stale.h"

namespace noisefloor::trainer {

namespace {

// For people: a worker keeps it as the member's log.
void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

}  // namespace

Checkpointer::Checkpointer(CheckpointFolder folder, absl::Duration every,
                           std::string work_directory, const Clock& clock)
    : folder_(std::move(folder)),
      every_(every),
      work_directory_(std::move(work_directory)),
      clock_(clock),
      last_(clock.Steady()) {}

Checkpointer::~Checkpointer() { WaitForWriter(); }

void Checkpointer::Resume(Moving& moving) {
  moving.reporter.KeepTold();
  const auto content = ContentFor(TensorsOf(moving));
  size_bytes_ = content.ok() ? content->bytes().size() : 0;
  const auto found = folder_.Load(size_bytes_, [&](const Checkpoint& checkpoint) {
    NF_RETURN_IF_ERROR(CheckFits(checkpoint, moving));
    return folder_.Unpack(checkpoint, work_directory_);
  });
  for (const std::string& note : found.notes) Say(note);
  if (!found.checkpoint) return;
  Restore(*found.checkpoint, moving);
  taken_at_ = moving.report.steps;
  MutexLock lock(mutex_);
  kept_at_ = taken_at_;
  cost_ = moving.report.checkpoints;
  ++cost_.written;  // The one that holds it.
  Say("goes on after " + std::to_string(kept_at_) + " steps");
}

bool Checkpointer::Due(int64_t steps) const {
  if (steps == taken_at_ || clock_.Steady() - last_ < every_) return false;
  MutexLock lock(mutex_);
  return !writing_;
}

void Checkpointer::Fill(const Moving& moving) {
  const std::vector<NamedTensor> tensors = TensorsOf(moving);
  if (!content_) {
    auto made = ContentFor(tensors);
    NF_CHECK(made.ok());  // Names are our own, and shapes those of tensors.
    content_ = *std::move(made);
  }
  CopyTo(*content_, tensors);
}

void Checkpointer::Take(const Moving& moving) {
  const absl::Duration begin = clock_.Steady();
  last_ = begin;
  taken_at_ = moving.report.steps;
  WaitForWriter();
  Fill(moving);
  const absl::Duration filled = clock_.Steady();
  NoteHeldUp(filled - begin);
  {
    MutexLock lock(mutex_);
    moving.report.checkpoints = cost_;
  }
  Start(CheckpointOf(moving));
  NoteHeldUp(clock_.Steady() - filled);
}

void Checkpointer::NoteHeldUp(absl::Duration time) {
  MutexLock lock(mutex_);
  cost_.held_up_seconds += absl::ToDoubleSeconds(time);
}

void Checkpointer::Start(Checkpoint checkpoint) {
  {
    MutexLock lock(mutex_);
    writing_ = true;
  }
  try {
    writer_ = std::thread([this, checkpoint] { Write(checkpoint); });
  } catch (const std::system_error& error) {  // No more threads.
    Done(checkpoint, MakeError(absl::StatusCode::kResourceExhausted, error.what()));
  }
}

void Checkpointer::Write(const Checkpoint& checkpoint) {
  const absl::Duration begin = clock_.Steady();
  absl::Status status;
  try {
    status = folder_.Write(checkpoint, content_->bytes(), work_directory_);
  } catch (const std::exception& error) {  // No memory for a moment.
    status = MakeError(absl::StatusCode::kResourceExhausted, error.what());
  }
  if (status.ok() && !looked_for_stale_) {
    looked_for_stale_ = true;
    for (const std::string& path : RemoveStaleCheckpoints(folder_.base(), clock_.Now())) {
      Say("removed " + path + ": nobody has come back for it");
    }
  }
  {
    MutexLock lock(mutex_);
    cost_.write_seconds += absl::ToDoubleSeconds(clock_.Steady() - begin);
  }
  Done(checkpoint, status);
}

void Checkpointer::Done(const Checkpoint& checkpoint, const absl::Status& status) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (status.ok()) {
    ++cost_.written;
    kept_at_ = checkpoint.step;
    return;
  }
  ++cost_.failed;
  error_ = Message(status);
  Say("no checkpoint after " + std::to_string(checkpoint.step) + " steps: " + error_);
}

bool Checkpointer::TakeLast(const Moving& moving) {
  const int64_t steps = moving.report.steps;
  WaitForWriter();
  if (steps == 0) return false;
  const auto is_kept = [&] {
    MutexLock lock(mutex_);
    return kept_at_ == steps;
  };
  if (is_kept()) return true;
  Take(moving);
  WaitForWriter();
  return is_kept();
}

void Checkpointer::WaitForWriter() {
  if (writer_.joinable()) writer_.join();
}

void Checkpointer::Forget() {
  WaitForWriter();
  const absl::Status removed = folder_.Remove();
  if (!removed.ok()) Say("the checkpoints are left: " + Message(removed));
}

Json Checkpointer::Measured() {
  WaitForWriter();
  MutexLock lock(mutex_);
  if (cost_.written + cost_.failed == 0) return nullptr;
  Json measured = {{"written", cost_.written},
                   {"failed", cost_.failed},
                   {"bytes", size_bytes_},
                   {"held_up_seconds", cost_.held_up_seconds},
                   {"write_seconds", cost_.write_seconds}};
  if (!error_.empty()) measured["error"] = error_;
  return measured;
}

}  // namespace noisefloor::trainer
