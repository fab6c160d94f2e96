// Slurm, through sbatch, squeue and scancel. Tried with 22.05.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/fleet/job.h"
#include "coordinator/slurm/command.h"

namespace noisefloor {

// Jobs to submit: one, or an array.
struct SubmitWish {
  std::string job_name;
  std::string script;
  std::string log;  // As sbatch's --output: patterns and all.
  uint32_t count = 1;
  absl::Duration time_limit = absl::ZeroDuration();   // Zero: the cluster's own.
  absl::Duration warn_before = absl::ZeroDuration();  // Of the limit, SIGUSR1 comes; zero: none.
  std::vector<std::string> arguments;                 // Of sbatch, before ours, so that ours hold.
};

// The job must have the name: a number that was used again is somebody else's.
struct JobToCancel {
  std::string name;
  std::string key;  // Of an array: all its places. Empty: all of the name.
};

// InvalidArgument names the argument of sbatch that a pool's job cannot have, and says why.
absl::Status CheckArguments(const std::vector<std::string>& arguments);

// Thread-safe. Each call runs a program and waits for it.
class Slurm {
 public:
  // All of the environment that the programs get: see environment.h.
  explicit Slurm(std::vector<std::string> environment, absl::Duration deadline = absl::Seconds(15))
      : environment_(std::move(environment)), deadline_(deadline) {}

  // "25": the number of the job, or of the array. InvalidArgument: refused, in Slurm's own words.
  // Any other error: nobody knows whether it was submitted.
  absl::StatusOr<std::string> Submit(const SubmitWish& wish) const;

  // What Slurm says of such a job; nothing is submitted. InvalidArgument likewise.
  absl::StatusOr<std::string> Try(const SubmitWish& wish) const;

  // All jobs of this user whose names begin so, those that ended in the last minutes, too. An error
  // is no information.
  absl::StatusOr<std::vector<fleet::Job>> Poll(const std::string& prefix) const;

  // All of them with two commands. OK when there is none any more. InvalidArgument: Slurm will not
  // end one of them; any other error: it did not answer.
  absl::Status Cancel(const std::vector<JobToCancel>& jobs) const;

 private:
  absl::StatusOr<CommandResult> Run(std::vector<std::string> words, std::string input = "") const;

  const std::vector<std::string> environment_;
  const absl::Duration deadline_;
};

// What squeue prints with the format of Poll; lines that are not so are passed over, and so is what
// was cancelled of an array that goes on.
std::vector<fleet::Job> ParseQueue(std::string_view text, std::string_view prefix);

}  // namespace noisefloor
