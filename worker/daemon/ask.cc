#include "worker/daemon/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/file_error.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {

namespace {

constexpr size_t kMaxAnswerBytes = 1 << 20;

// A program that runs, and what it has said so far.
struct Asked {
  size_t place = 0;
  std::string call;  // "PROGRAM --describe", for messages.
  Child child;
  int output = -1;
  std::string text;
};

absl::StatusOr<Asked> Start(size_t place, const Question& question) {
  Asked asked;
  asked.place = place;
  asked.call = fmt::format("{}", fmt::join(question.arguments, " "));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FileError(asked.call, "make a pipe for", errno);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  SpawnRequest request;
  request.arguments = question.arguments;
  request.environment = question.environment;
  request.input = request.error = null;
  request.output = ends[1];
  const absl::StatusOr<Child> child = Spawn(request);
  close(ends[1]);
  close(null);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  asked.child = *child;
  asked.output = ends[0];
  return asked;
}

// Reads what is there. False: it has said all, or too much.
bool Listen(Asked& asked) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(asked.output, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  asked.text.append(buffer.data(), static_cast<size_t>(got));
  return asked.text.size() <= kMaxAnswerBytes;
}

// Waits for its end. `cut_off`: why it is not let finish; "" = it has closed its output.
absl::StatusOr<std::string> End(Asked& asked, std::string cut_off, absl::Duration silence) {
  pollfd gone = {asked.child.pidfd, POLLIN, 0};
  const int patience = static_cast<int>(absl::ToInt64Milliseconds(silence));
  if (cut_off.empty() && poll(&gone, 1, patience) == 0) {
    cut_off = "not ended within " + absl::FormatDuration(silence);
  }
  if (!cut_off.empty()) kill(-asked.child.pid, SIGKILL);
  close(asked.output);
  const Reaped end = Reap(asked.child);
  close(asked.child.pidfd);
  if (!cut_off.empty()) {
    return MakeError(absl::StatusCode::kDeadlineExceeded,
                     fmt::format("{}: {}", asked.call, cut_off));
  }
  if (asked.text.size() > kMaxAnswerBytes) {
    return InvalidInput(fmt::format("{}: an answer of more than 1 MiB", asked.call));
  }
  if (end.signalled || end.code != 0) {
    return InvalidInput(fmt::format("{}: {} {}", asked.call,
                                    end.signalled ? "ended by signal" : "exit code", end.code));
  }
  return std::move(asked.text);
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
    } else {
      answers_[next_] = asked.status();
    }
    ++next_;
  }

  // Nobody says anything: then nobody will.
  void HearAny() {
    std::vector<pollfd> waits;
    for (const Asked& asked : running_) waits.push_back({asked.output, POLLIN, 0});
    const int ready = poll(waits.data(), waits.size(),
                           static_cast<int>(absl::ToInt64Milliseconds(options_.silence)));
    if (ready < 0 && errno == EINTR) return;
    std::vector<Asked> still;
    for (size_t i = 0; i < running_.size(); ++i) {
      Asked& asked = running_[i];
      if (ready > 0 && (waits[i].revents == 0 || Listen(asked))) {
        still.push_back(std::move(asked));
        continue;
      }
      const std::string cut_off =
          ready > 0 ? "" : "no answer within " + absl::FormatDuration(options_.silence);
      answers_[asked.place] = End(asked, cut_off, options_.silence);
    }
    running_ = std::move(still);
  }

  const std::vector<Question>& questions_;
  const AskOptions options_;
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
