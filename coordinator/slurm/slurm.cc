#include "coordinator/slurm/slurm.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "fmt/format.h"

namespace noisefloor {

namespace {

// Parts of a line of squeue, split by '|': reasons may have blanks and commas.
constexpr const char* kFormat = "%i|%F|%K|%T|%r|%j|%N|%e|%S";
constexpr size_t kFields = 9;
constexpr size_t kMostWords = 2000;  // Of what Slurm says.

// Names of options that we give, or that take the script or the answer away.
constexpr std::array<std::string_view, 20> kOurs = {
    "--wrap",      "--array", "-a",        "--job-name",   "-J",         "--output", "-o",
    "--error",     "-e",      "--requeue", "--no-requeue", "--parsable", "--export", "--signal",
    "--test-only", "--wait",  "-W",        "--open-mode",  "--clusters", "-M"};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
  return text.substr(0, kMostWords);
}

std::string Said(const CommandResult& result) {
  const std::string_view words = Trimmed(result.err.empty() ? result.out : result.err);
  return words.empty() ? fmt::format("exit code {}", result.exit_code) : std::string(words);
}

// Slurm's programs say with the same code that a job is refused and that they reached nobody.
bool NobodyAnswered(std::string_view words) {
  constexpr std::array<std::string_view, 7> kSigns = {"Unable to contact slurm controller",
                                                      "Connection refused",
                                                      "Connection timed out",
                                                      "Socket timed out",
                                                      "Zero Bytes were transmitted",
                                                      "Slurm temporarily unable",
                                                      "Slurm backup controller in standby"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return words.find(sign) != std::string_view::npos; });
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
    words.push_back(fmt::format("--signal=B:USR1@{}",
                                std::min<int64_t>(absl::ToInt64Seconds(wish.warn_before), 65535)));
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

std::optional<fleet::Job> JobOf(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t end = line.find('|');
    if ((end == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(fields[i].size() + 1, line.size()));
  }
  fleet::Job job;
  job.key = std::string(fields[0]);
  if (const auto index = Number(fields[2]); index && *index >= 0) {
    job.index = static_cast<uint32_t>(*index);
  }
  job.state = std::string(fields[3]);
  job.phase = fleet::PhaseOf(job.state);
  if (fields[4] != "None") job.reason = std::string(fields[4]);
  job.name = std::string(fields[5]);
  job.node = std::string(fields[6]);
  if (const auto ends = Number(fields[7])) job.ends = absl::FromUnixSeconds(*ends);
  if (const auto begins = Number(fields[8])) job.begins = absl::FromUnixSeconds(*begins);
  return job;
}

}  // namespace

absl::Status CheckArguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("-")) {
      return InvalidInput(
          fmt::format("{}: expected an option of sbatch, with its value behind '='", argument));
    }
    const std::string name = argument.substr(0, argument.find('='));
    const bool glued = argument.size() > 2 && argument[1] != '-' &&
                       std::ranges::find(kOurs, argument.substr(0, 2)) != kOurs.end();
    if (glued || std::ranges::find(kOurs, name) != kOurs.end()) {
      return InvalidInput(name + ": a pool says that itself");
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
  if (result.exit_code != 0) {
    const std::string said = Said(result);
    return NobodyAnswered(said) ? MakeError(absl::StatusCode::kUnavailable, said)
                                : InvalidInput(said);
  }
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
  const std::string said = Said(result);
  if (result.exit_code == 0) return said;
  return NobodyAnswered(said) ? MakeError(absl::StatusCode::kUnavailable, said)
                              : InvalidInput(said);
}

absl::StatusOr<std::vector<fleet::Job>> Slurm::Poll(const std::string& prefix) const {
  NF_ASSIGN_OR_RETURN(const CommandResult result,
                      Run({"squeue", "--me", "-r", "-h", "-t", "all", "-o", kFormat}));
  if (result.exit_code != 0) return MakeError(absl::StatusCode::kUnavailable, Said(result));
  return ParseQueue(result.out, prefix);
}

absl::Status Slurm::Cancel(const std::string& job_name, const std::string& key) const {
  std::vector<std::string> words = {"scancel", "--me", "--name=" + job_name};
  if (!key.empty()) words.push_back(key);
  NF_ASSIGN_OR_RETURN(const CommandResult result, Run(std::move(words)));
  if (result.exit_code == 0) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable, Said(result));
}

std::vector<fleet::Job> ParseQueue(std::string_view text, std::string_view prefix) {
  std::vector<fleet::Job> jobs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::optional<fleet::Job> job = JobOf(line);
    if (job && job->name.starts_with(prefix)) jobs.push_back(*std::move(job));
  }
  return jobs;
}

}  // namespace noisefloor
