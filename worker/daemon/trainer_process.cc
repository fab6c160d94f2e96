#include "worker/daemon/trainer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "worker/daemon/pipe_reader.h"

namespace noisefloor {

namespace {

constexpr int kMostOnTheWay = 64;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

absl::StatusOr<Pipe> MakePipe(const std::string& what) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(what, "make a pipe for", errno);
  return Pipe{ends[0], ends[1]};
}

void CloseAll(std::initializer_list<int> files) {
  for (const int file : files) {
    if (file >= 0) close(file);
  }
}

struct Pipes {
  Pipe input;
  Pipe events;
  Pipe output;
};

// All of them or none.
absl::StatusOr<Pipes> MakePipes(const std::string& what) {
  Pipes pipes;
  std::vector<int> made;
  for (Pipe* one : {&pipes.input, &pipes.events, &pipes.output}) {
    const absl::StatusOr<Pipe> pipe = MakePipe(what);
    if (!pipe.ok()) {
      for (const int file : made) close(file);
      return pipe.status();
    }
    *one = *pipe;
    made.insert(made.end(), {pipe->read_end, pipe->write_end});
  }
  return pipes;
}

void SetNonBlocking(int file) { fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK); }

}  // namespace

TrainerProcess::TrainerProcess(Child child, Sink sink, uint64_t log_limit_bytes)
    : child_(child), sink_(std::move(sink)), log_limit_bytes_(log_limit_bytes) {}

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(const TrainerCommand& command,
                                                                      Sink sink) {
  const std::string& program = command.words.at(0);
  NF_ASSIGN_OR_RETURN(const Pipes pipes, MakePipes(program));
  const auto& [input, events, output] = pipes;
  SpawnRequest request;
  request.arguments = command.words;
  request.environment = command.environment;
  request.environment["NOISEFLOOR_EVENTS"] = "3";
  request.cores = command.cores;
  request.input = input.read_end;
  request.output = request.error = output.write_end;
  request.events = events.write_end;
  const absl::StatusOr<Child> child =
      command.server != nullptr ? command.server->Fork(request) : Spawn(request);
  CloseAll({input.read_end, events.write_end, output.write_end});
  if (!child.ok()) {
    CloseAll({input.write_end, events.read_end, output.read_end});
    return child.status();
  }
  std::unique_ptr<TrainerProcess> process(
      new TrainerProcess(*child, std::move(sink), command.log_limit_bytes));
  process->input_ = input.write_end;
  process->events_ = events.read_end;
  process->output_ = output.read_end;
  for (const int file : {input.write_end, events.read_end, output.read_end}) SetNonBlocking(file);
  process->thread_ = std::thread([p = process.get()] { p->Watch(); });
  return process;
}

TrainerProcess::~TrainerProcess() {
  Kill();
  {
    MutexLock lock(mutex_);
    closing_ = true;
    consumed_.NotifyAll();
  }
  thread_.join();
  MutexLock lock(mutex_);
  CloseAll({input_, events_, output_, log_, child_.pidfd});
}

absl::Status TrainerProcess::Give(const std::string& request, const std::string& log_path) {
  absl::Status given = OpenLog(log_path);
  if (given.ok()) given = WriteRequest(request);
  close(input_);
  input_ = -1;
  if (!given.ok() && given.code() != absl::StatusCode::kAborted) Kill();
  return given;
}

absl::Status TrainerProcess::OpenLog(const std::string& path) {
  {
    MutexLock lock(mutex_);
    log_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (log_ < 0) return FileError(path, "open", errno);
  }
  WriteLog("");  // What came early.
  return absl::OkStatus();
}

absl::Status TrainerProcess::WriteRequest(const std::string& request) {
  const std::string line = request + "\n";
  // Not before it is needed: the system gives each user only so many pages of pipes.
  if (fcntl(input_, F_GETPIPE_SZ) < static_cast<int>(line.size())) {
    fcntl(input_, F_SETPIPE_SZ, static_cast<int>(line.size()));
  }
  const ssize_t written = write(input_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  const bool ended = written < 0 && errno == EPIPE;
  return MakeError(
      ended ? absl::StatusCode::kAborted : absl::StatusCode::kUnavailable,
      fmt::format("the trainer did not take its request of {} bytes: {}", line.size(),
                  written < 0 ? std::string_view(strerror(errno)) : "its pipe is full"));
}

void TrainerProcess::Consumed() {
  MutexLock lock(mutex_);
  --on_the_way_;
  consumed_.NotifyOne();
}

void TrainerProcess::Signal(int number) {
  MutexLock lock(mutex_);
  if (!ended_) kill(-child_.pid, number);
}

void TrainerProcess::Watch() {
  bool events_open = true;
  bool ended = false;
  while (!ended) {
    std::array<pollfd, 3> wait = {{{child_.pidfd, POLLIN, 0},
                                   {events_open ? events_ : -1, POLLIN, 0},
                                   {output_open_ ? output_ : -1, POLLIN, 0}}};
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) break;
    ended = wait[0].revents != 0;
    // What it wrote before its end is still in the pipes.
    if (events_open && (wait[1].revents != 0 || ended)) events_open = ReadEvents();
    if (wait[2].revents != 0 || ended) ReadOutput();
  }
  if (!partial_.empty() && !broken_) {
    Report(InvalidInput(fmt::format("its last event of {} bytes has no newline", partial_.size())));
  }
  EndGroup();
}

// Also ends what the trainer itself started; while it is not reaped, the group's id is ours.
void TrainerProcess::EndGroup() {
  Reaped reaped;
  {
    MutexLock lock(mutex_);
    kill(-child_.pid, SIGKILL);
    reaped = Reap(child_);
    ended_ = true;
  }
  Report(ProcessExit{reaped.signalled, reaped.code});
}

bool TrainerProcess::ReadEvents() {
  return ReadAvailable(events_, kMostPipeBytes, [this](std::string_view bytes) {
    ReadOutput();  // What was written before an event is in the log when the event is known.
    TakeEvents(bytes);
  });
}

void TrainerProcess::TakeEvents(std::string_view bytes) {
  if (broken_) return;
  partial_ += bytes;
  TakeLines();
}

void TrainerProcess::TakeLines() {
  size_t begin = 0;
  for (size_t end = partial_.find('\n'); end != std::string::npos && !broken_;
       end = partial_.find('\n', begin)) {
    std::string line = partial_.substr(begin, end - begin);
    begin = end + 1;
    absl::StatusOr<TrainerEvent> event = EventFromJson(line);
    if (event.ok()) {
      Report(TrainerLine{*std::move(event), std::move(line)});
    } else {
      broken_ = true;
      Report(event.status());
    }
  }
  partial_.erase(0, begin);
  if (!broken_ && partial_.size() > kMaxEventBytes) {
    broken_ = true;
    Report(InvalidInput(fmt::format("an event of more than {} bytes", kMaxEventBytes)));
  }
  if (broken_) partial_.clear();
}

void TrainerProcess::ReadOutput() {
  if (!output_open_) return;
  output_open_ =
      ReadAvailable(output_, kMostPipeBytes, [this](std::string_view b) { WriteLog(b); });
}

void TrainerProcess::WriteLog(std::string_view text) {
  MutexLock lock(mutex_);
  const uint64_t room = log_limit_bytes_ - std::min(log_limit_bytes_, logged_bytes_);
  const bool cut = text.size() > room;
  std::string now(text.substr(0, room));
  if (cut && room > 0) now += "\n(the log is cut here: it reached its limit)\n";
  logged_bytes_ += text.size();
  if (log_ < 0) {
    early_log_ += now;
    return;
  }
  now = std::exchange(early_log_, {}) + now;
  // A log that cannot be written must not end a training.
  if (!now.empty()) (void)!write(log_, now.data(), now.size());
}

void TrainerProcess::Report(TrainerNews news) {
  {
    MutexLock lock(mutex_);
    const bool last = std::holds_alternative<ProcessExit>(news);
    while (!last && !closing_ && on_the_way_ >= kMostOnTheWay) consumed_.Wait(mutex_);
    ++on_the_way_;
  }
  sink_(std::move(news));
}

}  // namespace noisefloor
