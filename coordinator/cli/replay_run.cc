#include "coordinator/cli/replay_run.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/file_error.h"
#include "coordinator/cli/child_process.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kGrace = absl::Seconds(20);

class OwnedFile {
 public:
  explicit OwnedFile(int file) : file_(file) {}
  ~OwnedFile() { Close(); }
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  int get() const { return file_; }
  void Close() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  int file_;
};

// Lines out of the pipe; hello and outcome are kept, progress is passed on.
class Listener {
 public:
  explicit Listener(const ReplayRun& run) : run_(run) {}

  absl::Status Take(std::string_view bytes) {
    partial_.append(bytes);
    size_t begin = 0;
    for (size_t end; (end = partial_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      NF_ASSIGN_OR_RETURN(const TrainerEvent event,
                          EventFromJson(std::string_view(partial_).substr(begin, end - begin)));
      if (const auto* hello = std::get_if<HelloEvent>(&event)) hello_ = *hello;
      if (const auto* outcome = std::get_if<OutcomeEvent>(&event)) outcome_ = *outcome;
      const auto* progress = std::get_if<ProgressEvent>(&event);
      if (progress != nullptr && run_.progress) run_.progress(*progress);
    }
    partial_.erase(0, begin);
    if (partial_.size() <= kMaxEventBytes) return absl::OkStatus();
    return InvalidInput(fmt::format("an event of more than {} bytes", kMaxEventBytes));
  }

  const std::optional<HelloEvent>& hello() const { return hello_; }
  const std::optional<OutcomeEvent>& outcome() const { return outcome_; }

 private:
  const ReplayRun& run_;
  std::string partial_;
  std::optional<HelloEvent> hello_;
  std::optional<OutcomeEvent> outcome_;
};

// Until the trainer has closed its end.
absl::Status Listen(int events, const StopSignal& stop, Listener& listener) {
  std::vector<char> buffer(1 << 16);
  for (;;) {
    if (stop.WaitFor(absl::InfiniteDuration(), events)) {
      return MakeError(absl::StatusCode::kCancelled, "stopped; the replay is not whole");
    }
    const ssize_t count = read(events, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("the trainer's events", "read", errno);
    if (count == 0) return absl::OkStatus();
    NF_RETURN_IF_ERROR(listener.Take({buffer.data(), static_cast<size_t>(count)}));
  }
}

absl::StatusOr<ReplayEnd> Judge(const ReplayRun& run, const Listener& listener, int exit_code) {
  const auto& outcome = listener.outcome();
  const std::string log = run.folder + "/trainer.log";
  if (!outcome || !listener.hello()) {
    return MakeError(absl::StatusCode::kInternal,
                     fmt::format("{} ended with code {} and no outcome; the end of {}:\n{}",
                                 run.program, exit_code, log, LastLines(log, 10)));
  }
  if (outcome->kind == OutcomeEvent::Kind::kFailed) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("the replay failed, {}: {}; its log is {}", Name(outcome->cause),
                                 outcome->message, log));
  }
  return ReplayEnd{*listener.hello(), *outcome};
}

}  // namespace

absl::StatusOr<ReplayEnd> RunTrainer(const ReplayRun& run, const StopSignal& stop) {
  const std::string request_path = run.folder + "/request.json";
  NF_RETURN_IF_ERROR(WriteFileAtomically(request_path, RequestToJson(run.request) + "\n"));
  const OwnedFile request(open(request_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (request.get() < 0) return FileError(request_path, "open", errno);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(run.program, "make a pipe for", errno);
  const OwnedFile events(ends[0]);
  OwnedFile theirs(ends[1]);
  ChildSettings settings = {.program = run.program,
                            .variables = run.variables,
                            .clean = true,
                            .log_path = run.folder + "/trainer.log",
                            .input = request.get(),
                            .keep = theirs.get()};
  settings.variables["NOISEFLOOR_EVENTS"] = std::to_string(theirs.get());
  settings.variables["LC_ALL"] = std::string("C");
  NF_ASSIGN_OR_RETURN(ChildProcess trainer, ChildProcess::Start(settings));
  theirs.Close();
  Listener listener(run);
  const absl::Status listened = Listen(events.get(), stop, listener);
  if (!listened.ok()) {
    trainer.Stop(kGrace);
    return listened;
  }
  return Judge(run, listener, trainer.Wait());
}

}  // namespace noisefloor::cli
