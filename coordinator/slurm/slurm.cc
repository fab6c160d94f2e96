#include "coordinator/slurm/slurm.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace noisefloor {

namespace {

// Parts of a line of squeue, split by '|': reasons may have blanks and commas.
constexpr const char* kFormat = "%i|%F|%K|%T|%r|%j|%N|%e|%S";
constexpr size_t kFields = 9;
constexpr size_t kMostWords = 2000;  // Of what Slurm says.

// Names of options that we give, or that take the script, the answer or the job away.
constexpr std::array<std::string_view, 29> kOurs = {
    "--wrap",   "--array",    "-a",     "--job-name", "-J",           "--output",
    "-o",       "--error",    "-e",     "--requeue",  "--no-requeue", "--parsable",
    "--export", "--signal",   "--wait", "-W",         "--test-only",  "--open-mode",
    "-M",       "--clusters", "-Q",     "--quiet",    "-h",           "--help",
    "--usage",  "-V",         "--uid",  "--gid",      "--version"};
// Letters of sbatch that have no value, so that more can follow in the same word.
constexpr std::string_view kFlags = "HIOksuv";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
  return text.substr(0, kMostWords);
}

std::string Said(const CommandResult& result) {
  const std::string_view words = Trimmed(result.err.empty() ? result.out : result.err);
  return words.empty() ? fmt::format("exit code {}", result.exit_code) : std::string(words);
}

bool IsGone(const CommandResult& result) {
  return result.exit_code != 0 && result.err.find("Invalid job id specified") != std::string::npos;
}

// Slurm's programs say with the same code that a job is refused and that they reached nobody.
bool NobodyAnswered(std::string_view words) {
  constexpr std::array<std::string_view, 18> kSigns = {"Unable to contact slurm controller",
                                                       "Communication connection failure",
                                                       "Communication shutdown failure",
                                                       "Connection refused",
                                                       "Connection reset by peer",
                                                       "Connection timed out",
                                                       "Broken pipe",
                                                       "Socket timed out",
                                                       "Message send failure",
                                                       "Message receive failure",
                                                       "Unexpected message received",
                                                       "Insane message length",
                                                       "Header lengths are longer",
                                                       "Zero Bytes were transmitted",
                                                       "Protocol authentication error",
                                                       "authentication credential",
                                                       "Slurm temporarily unable",
                                                       "in standby mode"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return words.find(sign) != std::string_view::npos; });
}

// What a program that submits and has failed means; a signal ended it where it was.
absl::Status Refusal(const CommandResult& result) {
  const std::string said = Said(result);
  const bool signalled = result.exit_code > 128 && result.exit_code <= 128 + SIGRTMAX;
  return NobodyAnswered(said) || signalled ? MakeError(absl::StatusCode::kUnavailable, said)
                                           : InvalidInput(said);
}

std::vector<std::string> Words(const SubmitWish& wish) {
  std::vector<std::string> words = {"sbatch"};
  words.insert(words.end(), wish.arguments.begin(), wish.arguments.end());
  words.insert(words.end(), {"--parsable", "--job-name=" + wish.job_name, "--no-requeue",
                             "--open-mode=append", "--output=" + wish.log,
                             // By name, and little: ALL would copy our secrets into every job.
                             "--export=PATH,HOME,USER,LOGNAME,LANG"});
  if (wish.time_limit > absl::ZeroDuration()) {
    const int64_t minutes = absl::ToInt64Minutes(absl::Ceil(wish.time_limit, absl::Minutes(1)));
    words.push_back(fmt::format("--time={}", minutes));
  }
  if (wish.warn_before > absl::ZeroDuration()) {
    // To the batch process alone, which is the worker: its trainers go on.
    words.push_back(fmt::format(
        "--signal=B:USR1@{}",
        std::min<int64_t>(absl::ToInt64Seconds(absl::Ceil(wish.warn_before, absl::Seconds(1))),
                          65535)));
  }
  if (wish.count > 1) words.push_back(fmt::format("--array=0-{}", wish.count - 1));
  return words;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Line {
  fleet::Job job;
  std::string_view number;  // Of the job, or of the array.
  bool has_index = false;
};

std::optional<Line> LineOf(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t end = line.find('|');
    if ((end == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(fields[i].size() + 1, line.size()));
  }
  fleet::Job job;
  job.key = std::string(fields[0]);
  const int64_t index = Number(fields[2]).value_or(-1);
  if (index >= 0) job.index = static_cast<uint32_t>(index);
  job.state = std::string(fields[3]);
  job.phase = fleet::PhaseOf(job.state);
  if (fields[4] != "None") job.reason = std::string(fields[4]);
  job.name = std::string(fields[5]);
  job.node = std::string(fields[6]);
  if (const auto ends = Number(fields[7])) job.ends = absl::FromUnixSeconds(*ends);
  if (const auto begins = Number(fields[8])) job.begins = absl::FromUnixSeconds(*begins);
  return Line{std::move(job), fields[1], index >= 0};
}

// Whether a word of sbatch says what a pool says itself. Long names may be shortened, letters
// gathered: "--arr=0-3", "-Ha0-3".
bool IsOurs(std::string_view argument) {
  const auto ours = [](std::string_view name) {
    return std::ranges::find(kOurs, name) != kOurs.end();
  };
  if (argument.starts_with("--")) {
    const std::string_view name = argument.substr(0, argument.find('='));
    return std::ranges::any_of(kOurs, [&](auto one) { return one.starts_with(name); });
  }
  for (const char letter : argument.substr(1)) {
    if (ours(std::string("-") + letter)) return true;
    if (kFlags.find(letter) == std::string_view::npos) return false;  // The rest is its value.
  }
  return false;
}

}  // namespace

absl::Status CheckArguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("-") || argument == "-" || argument == "--") {
      return InvalidInput(
          fmt::format("{}: expected an option of sbatch, with its value behind '='", argument));
    }
    if (IsOurs(argument)) {
      return InvalidInput(argument.substr(0, argument.find('=')) + ": a pool says that itself");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandResult> Slurm::Run(std::vector<std::string> words, std::string input) const {
  return RunCommand({.words = std::move(words),
                     .input = std::move(input),
                     .environment = environment_,
                     .deadline = deadline_});
}

absl::StatusOr<std::string> Slurm::Submit(const SubmitWish& wish) const {
  NF_ASSIGN_OR_RETURN(const CommandResult result, Run(Words(wish), wish.script));
  if (result.exit_code != 0) return Refusal(result);
  // "25" or "25;cluster".
  const std::string_view answer = Trimmed(result.out);
  const std::string_view number = answer.substr(0, answer.find(';'));
  if (!Number(number)) {
    return MakeError(absl::StatusCode::kUnavailable,
                     "sbatch: expected the number of a job, got " + std::string(answer));
  }
  return std::string(number);
}

absl::StatusOr<std::string> Slurm::Try(const SubmitWish& wish) const {
  std::vector<std::string> words = Words(wish);
  words.emplace_back("--test-only");
  std::vector<std::string> environment = environment_;  // Times are for people here.
  std::erase_if(environment, [](const auto& one) { return one.starts_with("SLURM_TIME_FORMAT="); });
  NF_ASSIGN_OR_RETURN(const CommandResult result, RunCommand({.words = std::move(words),
                                                              .input = wish.script,
                                                              .environment = std::move(environment),
                                                              .deadline = deadline_}));
  if (result.exit_code != 0) return Refusal(result);
  return Said(result);
}

absl::StatusOr<std::vector<fleet::Job>> Slurm::Poll(const std::string& prefix) const {
  NF_ASSIGN_OR_RETURN(const CommandResult result,
                      Run({"squeue", "--me", "-r", "-h", "-t", "all", "-o", kFormat}));
  if (result.exit_code != 0) return MakeError(absl::StatusCode::kUnavailable, Said(result));
  return ParseQueue(result.out, prefix);
}

absl::Status Slurm::Cancel(const std::vector<JobToCancel>& jobs) const {
  if (jobs.empty()) return absl::OkStatus();
  std::set<std::pair<std::string, std::string>> wanted;
  for (const JobToCancel& job : jobs) {
    if (job.name.empty()) return InvalidInput("scancel: no name");
    wanted.emplace(job.name, job.key);
  }
  NF_ASSIGN_OR_RETURN(const std::vector<fleet::Job> shown, Poll(""));
  // scancel itself must not choose: with any of its filters one place of an array that waits means
  // all that wait. It would look first and cancel by number then, as we do.
  std::vector<std::string> words = {"scancel"};
  for (const fleet::Job& job : shown) {
    const std::string array = job.key.substr(0, job.key.find('_'));
    const bool meant = wanted.contains({job.name, ""}) || wanted.contains({job.name, job.key}) ||
                       wanted.contains({job.name, array});
    const bool lives =
        job.phase == fleet::JobPhase::kWaiting || job.phase == fleet::JobPhase::kAlive;
    if (meant && lives) words.push_back(job.key);
  }
  if (words.size() == 1) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const CommandResult result, Run(std::move(words)));
  return result.exit_code == 0 || IsGone(result) ? absl::OkStatus() : Refusal(result);
}

std::vector<fleet::Job> ParseQueue(std::string_view text, std::string_view prefix) {
  std::vector<Line> lines;
  std::set<std::string_view> arrays;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::optional<Line> read = LineOf(line);
    if (!read || !read->job.name.starts_with(prefix)) continue;
    if (read->has_index) arrays.insert(read->number);
    lines.push_back(*std::move(read));
  }
  std::vector<fleet::Job> jobs;
  for (Line& line : lines) {
    // The places of an array that were cancelled before they began are one line without an index.
    // It is none of those that are shown.
    if (line.has_index || !arrays.contains(line.number)) jobs.push_back(std::move(line.job));
  }
  return jobs;
}

}  // namespace noisefloor
