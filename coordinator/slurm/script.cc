#include "coordinator/slurm/script.h"

namespace noisefloor {

namespace {

// When Slurm ends the job: newer releases say it in the environment; else the limit that was asked
// for, from the start of the script on; else squeue, where nodes have it.
std::string Lifetime(absl::Duration limit) {
  std::string script =
      "lifetime=0\n"
      "left() { lifetime=$(($1 > 0 ? $1 : 1)); }\n"
      "case \"${SLURM_JOB_END_TIME:-}\" in\n"
      "  [1-9]*) left $((SLURM_JOB_END_TIME - $(date +%s))) ;;\n";
  if (limit > absl::ZeroDuration()) {
    script += "  *) left $((" + std::to_string(absl::ToInt64Seconds(limit)) + " - SECONDS)) ;;\n";
  } else {
    script +=
        "  *) job=\"${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}\"\n"
        "     end=$(SLURM_TIME_FORMAT=%s squeue -h -j \"${job:-${SLURM_JOB_ID:-0}}\" -o %e "
        "2>/dev/null)\n"
        "     case \"$end\" in [1-9]*) left $((end - $(date +%s))) ;; esac ;;\n";
  }
  return script + "esac\n";
}

}  // namespace

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string BatchScript(const ScriptWish& wish) {
  std::string script = "#!/bin/bash\n";
  script +=
      "name=" + ShellQuoted(wish.pool + "-" + wish.nonce + "-") + "\"${SLURM_ARRAY_TASK_ID:-0}\"\n";
  script += "[ \"${SLURM_RESTART_COUNT:-0}\" = 0 ] || name=\"$name-r$SLURM_RESTART_COUNT\"\n";
  script += "exec >>" + ShellQuoted(wish.logs + "/") + "\"$name.log\" 2>&1 || exit 1\n";
  if (!wish.prologue.empty()) script += wish.prologue + "\n";
  // What the nodes' own environment says is another coordinator's.
  script += "unset NOISEFLOOR_COORDINATOR NOISEFLOOR_ACCESS\n";
  script += Lifetime(wish.time_limit);
  std::string where;
  if (wish.access.empty()) {
    where = " --coordinator=" + ShellQuoted(wish.coordinator);
  } else {
    script += "export NOISEFLOOR_ACCESS=" + ShellQuoted(wish.access) + "\n";
  }
  script += "exec " + ShellQuoted(wish.worker_program) + " --name=\"$name\"" + where +
            " --state=\"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/noisefloor-$name\""
            " --lifetime=\"$lifetime\"";
  for (const std::string& option : wish.worker_options) script += " " + ShellQuoted(option);
  return script + "\n";
}

}  // namespace noisefloor
