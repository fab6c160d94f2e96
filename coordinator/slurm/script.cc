#include "coordinator/slurm/script.h"

namespace noisefloor {

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
  std::string where;
  if (wish.access.empty()) {
    where = " --coordinator=" + ShellQuoted(wish.coordinator);
  } else {
    script += "export NOISEFLOOR_ACCESS=" + ShellQuoted(wish.access) + "\n";
  }
  script += "exec " + ShellQuoted(wish.worker_program) + " --name=\"$name\"" + where +
            " --state=\"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/noisefloor-$name\"";
  for (const std::string& option : wish.worker_options) script += " " + ShellQuoted(option);
  return script + "\n";
}

}  // namespace noisefloor
