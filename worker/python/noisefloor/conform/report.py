"""What a check says at its end."""

from __future__ import annotations

from typing import Any

from noisefloor.conform.leaks import Found
from noisefloor.conform.members import Word


def facts(found: Found, word: Word | None, runs: int) -> dict[str, Any]:
    checks = [check._asdict() for check in word.checks] if word else []
    good = all(check["good"] for check in checks)
    return {"version": 1, "conforms": good and not found.findings and not found.unexplained,
            "member": word is not None, "checks": checks, "sources": word.acts if word else {},
            "findings": [finding._asdict() for finding in found.findings],
            "unexplained": found.unexplained, "repeats": found.repeats, "compared": found.of,
            "runs": runs}


def text(told: dict[str, Any]) -> str:
    lines = []
    for check in told["checks"]:
        lines.append(f"{'good' if check['good'] else 'BAD '} {check['name']}: {check['words']}")
    for source, changed in told["sources"].items():
        lines.append(f"     {source} free: changes " + (", ".join(changed) or "nothing"))
    if lines:
        lines.append("")
    for finding in told["findings"]:
        where = f"{finding['place']}: " if finding["place"] else ""
        lines += [f"{where}{finding['what']} [{finding['seen']}]", f"    {finding['help']}"]
    if told["unexplained"]:
        lines.append("Two runs of it differ, and no line was found to be the reason.")
    if not told["findings"] and not told["unexplained"]:
        lines.append("Nothing comes in from outside that changes the result.")
    equal = "equal" if told["repeats"] else "they differ"
    lines += ["", f"{len(told['findings'])} found in {told['runs']} runs, {told['seconds']:g} s; "
              f"compared: {told['compared']}; two runs as they are: {equal}"]
    if not told["member"]:
        lines.append("It is no member yet: `import noisefloor.member` gives it a seed for each "
                     "noise source.")
    return "\n".join(lines)
