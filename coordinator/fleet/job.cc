#include "coordinator/fleet/job.h"

#include <algorithm>
#include <array>
#include <utility>

namespace noisefloor::fleet {

namespace {

struct Word {
  std::string_view state;
  JobPhase phase;
};
// Slurm's job states: https://slurm.schedmd.com/squeue.html#SECTION_JOB-STATE-CODES
constexpr std::array<Word, 26> kStates = {{
    {"PENDING", JobPhase::kWaiting},       {"CONFIGURING", JobPhase::kWaiting},
    {"REQUEUED", JobPhase::kWaiting},      {"REQUEUE_HOLD", JobPhase::kWaiting},
    {"REQUEUE_FED", JobPhase::kWaiting},   {"SPECIAL_EXIT", JobPhase::kWaiting},
    {"RESV_DEL_HOLD", JobPhase::kWaiting}, {"POWER_UP_NODE", JobPhase::kWaiting},
    {"RUNNING", JobPhase::kAlive},         {"COMPLETING", JobPhase::kAlive},
    {"SIGNALING", JobPhase::kAlive},       {"STAGE_OUT", JobPhase::kAlive},
    {"SUSPENDED", JobPhase::kAlive},       {"STOPPED", JobPhase::kAlive},
    {"RESIZING", JobPhase::kAlive},        {"COMPLETED", JobPhase::kWell},
    {"TIMEOUT", JobPhase::kWell},          {"PREEMPTED", JobPhase::kTaken},
    {"NODE_FAIL", JobPhase::kTaken},       {"CANCELLED", JobPhase::kTaken},
    {"REVOKED", JobPhase::kTaken},         {"DEADLINE", JobPhase::kTaken},
    {"FAILED", JobPhase::kBroken},         {"OUT_OF_MEMORY", JobPhase::kBroken},
    {"BOOT_FAIL", JobPhase::kBroken},      {"LAUNCH_FAILED", JobPhase::kBroken},
}};

// What no waiting mends: the job itself, or who submits it, does not fit. Limits pass, nodes come
// back, and what a person holds a person can release.
constexpr std::array<std::string_view, 16> kNever = {
    "PartitionConfig",      "BadConstraints",     "AccountNotAllowed",
    "QOSNotAllowed",        "InvalidAccount",     "InvalidQOS",
    "PartitionTimeLimit",   "PartitionNodeLimit", "JobLaunchFailure",
    "NonZeroExitCode",      "SystemFailure",      "DeadLine",
    "AssociationTimeLimit", "QOSTimeLimit",       "DependencyNeverSatisfied",
    "MaxMemPerLimit"};

// Limits of one job, not of all that a person has: "QOSMaxGRESPerJob", "AssocMaxCpuPerNode",
// "QOSMinGRES".
bool IsOfOneJob(std::string_view reason) {
  if (!reason.starts_with("QOS") && !reason.starts_with("Assoc")) return false;
  return reason.find("PerJob") != std::string_view::npos || reason.ends_with("PerNode") ||
         reason.starts_with("QOSMin");
}

// By the first that begins so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kReasons = {{
    {"Resources", "all that it asks for is in use"},
    {"Priority", "jobs of a higher priority go first"},
    {"QOSMax", "you have as much as your quality of service allows"},
    {"QOSGrp", "your quality of service is used up by all who share it"},
    {"QOSNotAllowed", "the partition does not allow your quality of service"},
    {"QOSJobLimit", "your quality of service has as many jobs as it may"},
    {"QOSResourceLimit", "your quality of service has as much as it may"},
    {"AssocMax", "you have as much as your account allows"},
    {"AssocGrp", "your account is used up by all who share it"},
    {"AssociationJobLimit", "your account has as many jobs as it may"},
    {"AssociationResourceLimit", "your account has as much as it may"},
    {"AccountNotAllowed", "the partition does not allow your account"},
    {"InvalidAccount", "there is no such account"},
    {"InvalidQOS", "there is no such quality of service"},
    {"ReqNodeNotAvail", "the nodes that it needs are down, drained or reserved"},
    {"Reservation", "it waits for its reservation"},
    {"PartitionConfig", "the partition never has what it asks for"},
    {"PartitionTimeLimit", "its time limit is longer than the partition allows"},
    {"PartitionNodeLimit", "it asks for more nodes than the partition allows"},
    {"PartitionDown", "the partition is down"},
    {"PartitionInactive", "the partition takes no jobs at present"},
    {"BadConstraints", "no node is what it asks for"},
    {"Licenses", "it waits for a licence"},
    {"Dependency", "it waits for another job"},
    {"BeginTime", "it may not begin yet"},
    {"JobArray", "as many of its array run as may"},
    {"JobHeld", "somebody holds it: scontrol release"},
}};

}  // namespace

JobPhase PhaseOf(std::string_view slurm_state) {
  const std::string_view word = slurm_state.substr(0, slurm_state.find_first_of(" +"));
  const auto found = std::ranges::find(kStates, word, &Word::state);
  return found == kStates.end() ? JobPhase::kAlive : found->phase;
}

bool NeverBegins(std::string_view slurm_reason) {
  return IsOfOneJob(slurm_reason) || std::ranges::find(kNever, slurm_reason) != kNever.end();
}

std::string_view InWords(std::string_view slurm_reason) {
  if (IsOfOneJob(slurm_reason)) return "one job may not have so much, or so little";
  for (const auto& [reason, words] : kReasons) {
    if (slurm_reason.starts_with(reason)) return words;
  }
  return "";
}

}  // namespace noisefloor::fleet
