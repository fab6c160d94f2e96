// What Slurm's programs are told of our environment.
#pragma once

#include <string>
#include <vector>

namespace noisefloor {

// Of "NAME=value" entries those that find programs, libraries and the cluster. All others are left
// out: SQUEUE_*, SBATCH_*, SCANCEL_* and SLURM_* of a job change what the programs do (an option
// SQUEUE_STATES=PD hides what runs), and secrets would be copied into every job. Times are told as
// seconds since 1970.
std::vector<std::string> Cleared(const std::vector<std::string>& environment);
std::vector<std::string> SlurmEnvironment();  // This process's, cleared.

}  // namespace noisefloor
