#include "worker/daemon/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/clock.h"
#include "common/files/file_error.h"
#include "worker/daemon/attempt_result.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {

namespace {

constexpr size_t kMaxAnswerBytes = 1 << 20;
constexpr absl::Duration kLastMoment = absl::Seconds(10);  // From the end of its output to its own.

// A program that runs, and what it has said so far.
struct Asked {
  size_t place = 0;
  std::string call;  // "PROGRAM --describe", for messages.
  Child child;
  int output = -1;
  int error = -1;  // In memory.
  std::string text;
  absl::Duration heard;  // When it last said something.
};

absl::StatusOr<Asked> Start(size_t place, const Question& question) {
  Asked asked;
  asked.place = place;
  asked.call = fmt::format("{}", fmt::join(question.arguments, " "));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(asked.call, "make a pipe for", errno);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  asked.error = memfd_create("standard error", MFD_CLOEXEC);
  SpawnRequest request;
  request.arguments = question.arguments;
  request.environment = question.environment;
  request.input = null;
  request.error = asked.error < 0 ? null : asked.error;
  request.output = ends[1];
  const absl::StatusOr<Child> child = Spawn(request);
  close(ends[1]);
  close(null);
  if (!child.ok()) {
    close(ends[0]);
    close(asked.error);
    return child.status();
  }
  asked.child = *child;
  asked.output = ends[0];
  return asked;
}

// Reads what is there. False: that was all.
bool Listen(Asked& asked) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(asked.output, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  asked.text.append(buffer.data(), static_cast<size_t>(got));
  return true;
}

// ": " and the last line that it wrote as an error, where there is one. Closes the file.
std::string LastWords(int file) {
  constexpr off_t kMost = 500;
  const off_t size = std::max<off_t>(lseek(file, 0, SEEK_END), 0);
  std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), std::max<off_t>(size - kMost, 0));
  close(file);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  text.erase(text.find_last_not_of(" \n\r\t") + 1);
  text = ToUtf8(text.substr(text.rfind('\n') + 1), kMost);
  return text.empty() ? "" : ": " + text;
}

std::string AnswerIn(std::string text) {
  const size_t begin = text.find_first_not_of(" \n\r\t");
  const size_t last = text.find_last_not_of(" \n\r\t");
  if (begin == std::string::npos || text[begin] == '{') return text;
  const size_t line = text.rfind('\n', last);
  return line == std::string::npos || line < begin ? text : text.substr(line + 1);
}

// Waits for its end. `cut_off`: why it is not let finish; "" = it has closed its output.
absl::StatusOr<std::string> End(Asked& asked, std::string cut_off, absl::Duration silence) {
  pollfd gone = {asked.child.pidfd, POLLIN, 0};
  const int patience = static_cast<int>(absl::ToInt64Milliseconds(std::min(silence, kLastMoment)));
  if (cut_off.empty() && poll(&gone, 1, patience) == 0) {
    cut_off = "it has closed its output and does not end";
  }
  if (!cut_off.empty()) kill(-asked.child.pid, SIGKILL);
  close(asked.output);
  const Reaped end = Reap(asked.child);
  close(asked.child.pidfd);
  const std::string words = LastWords(asked.error);
  if (!cut_off.empty()) {
    return MakeError(absl::StatusCode::kDeadlineExceeded,
                     fmt::format("{}: {}{}", asked.call, cut_off, words));
  }
  if (end.signalled || end.code != 0) {
    return InvalidInput(fmt::format("{}: {} {}{}", asked.call,
                                    end.signalled ? "ended by signal" : "exit code", end.code,
                                    words));
  }
  return AnswerIn(std::move(asked.text));
}

class Round {
 public:
  Round(const std::vector<Question>& questions, const AskOptions& options)
      : questions_(questions), options_(options), answers_(questions.size()) {}

  std::vector<absl::StatusOr<std::string>> Run() {
    while (next_ < questions_.size() || !running_.empty()) {
      while (next_ < questions_.size() && running_.size() < options_.at_once) StartNext();
      if (!running_.empty()) HearAny();
    }
    std::vector<absl::StatusOr<std::string>> answers;
    for (auto& answer : answers_) answers.push_back(*std::move(answer));
    return answers;
  }

 private:
  void StartNext() {
    auto asked = Start(next_, questions_[next_]);
    if (asked.ok()) {
      running_.push_back(*std::move(asked));
      running_.back().heard = clock_.Steady();
    } else {
      answers_[next_] = asked.status();
    }
    ++next_;
  }

  void HearAny() {
    std::vector<pollfd> waits;
    absl::Duration patience = options_.silence;
    for (const Asked& asked : running_) {
      waits.push_back({asked.output, POLLIN, 0});
      patience = std::min(patience, asked.heard + options_.silence - clock_.Steady());
    }
    const auto milliseconds = absl::ToInt64Milliseconds(patience) + 1;
    const int ready =
        poll(waits.data(), waits.size(), static_cast<int>(std::max(milliseconds, 0l)));
    if (ready < 0) return;  // Interrupted.
    std::vector<Asked> still;
    for (size_t i = 0; i < running_.size(); ++i) {
      Asked& asked = running_[i];
      if (const auto cut_off = Hear(asked, waits[i].revents != 0)) {
        answers_[asked.place] = End(asked, *cut_off, options_.silence);
      } else {
        still.push_back(std::move(asked));
      }
    }
    running_ = std::move(still);
  }

  // Nothing while it may go on; else why it is cut off, "" when it has said all.
  std::optional<std::string> Hear(Asked& asked, bool speaks) const {
    const absl::Duration now = clock_.Steady();
    if (!speaks) {
      if (now - asked.heard < options_.silence) return std::nullopt;
      return "no answer within " + absl::FormatDuration(options_.silence);
    }
    asked.heard = now;
    if (!Listen(asked)) return "";
    if (asked.text.size() <= kMaxAnswerBytes) return std::nullopt;
    return "an answer of more than 1 MiB";
  }

  const std::vector<Question>& questions_;
  const AskOptions options_;
  const SystemClock clock_;
  std::vector<std::optional<absl::StatusOr<std::string>>> answers_;
  std::vector<Asked> running_;
  size_t next_ = 0;
};

}  // namespace

std::vector<absl::StatusOr<std::string>> Ask(const std::vector<Question>& questions,
                                             const AskOptions& options) {
  return Round(questions, options).Run();
}

}  // namespace noisefloor
