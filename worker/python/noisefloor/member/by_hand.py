"""The same script without a worker: one member, made from the command line."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from typing import Any

from noisefloor.member import draws
from noisefloor.member import settings as settings_of

_ABOUT = """\
This script is a trainer of noisefloor: a worker runs it for each member of a study. By hand it
trains one member with every noise source fixed, and prints what it measures."""


def request(arguments: list[str], schema: list[settings_of.Setting],
            stack: str) -> dict[str, Any]:
    """What a worker would ask; leaves the process for --help and for mistakes."""
    parser = argparse.ArgumentParser(description=_ABOUT, epilog=_settings_help(schema),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE",
                        help="a setting; may be repeated")
    parser.add_argument("--free", default="", metavar="SOURCE,...",
                        help="noise sources that get draws of the replicate's own: "
                        + ", ".join(draws.SOURCES))
    parser.add_argument("--replicate", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all draws")
    parser.add_argument("--work", metavar="DIR", help="where its files go (default: a new folder)")
    parser.add_argument("--data", default=os.environ.get("NOISEFLOOR_DATA", ""), metavar="DIR",
                        help="where data sets are (default: $NOISEFLOOR_DATA)")
    parser.add_argument("--describe", action="store_true", help="print what this trainer is")
    parser.add_argument("--probe", metavar="CLASS", help="try a hardware class")
    given = parser.parse_args(arguments)
    values = settings_of.defaults(schema)
    known = {setting["path"]: setting for setting in schema}
    for text in given.set:
        path, _, value = text.partition("=")
        if path not in known:
            parser.error(f"--set {text}: this script has no setting '{path}'")
        values[path] = _value(known[path], value)
        problem = settings_of.problem_with(known[path], values[path])
        if problem:
            parser.error(f"--set {problem}")
    free = [name for name in given.free.split(",") if name]
    for name in free:
        if name not in draws.SOURCES:
            parser.error(f"--free {name}: expected some of {', '.join(draws.SOURCES)}")
    work = given.work or tempfile.mkdtemp(prefix="noisefloor-member-")
    os.makedirs(work, exist_ok=True)
    print(f"files go to {work}")
    specification = {**settings_of.nested(values), "hardware_class": "", "stack": stack,
                     "noise": noise(given.seed, free, given.replicate)}
    text = json.dumps(specification, sort_keys=True)
    return {"protocol": 1, "member": "by hand", "attempt": 1, "specification": specification,
            "specification_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "data_root": given.data, "work_directory": work, "write_evaluation_set": True}


def noise(seed: int, free: list[str], replicate: int, block: int = 0) -> dict[str, Any]:
    """The sources of a member, as a specification has them."""
    result = {}
    for source in draws.SOURCES:
        is_free = source in free
        lane = replicate + 1 if is_free else 0
        state = "free" if is_free else "off" if source in draws.OFF_UNLESS_ASKED else "fixed"
        if state == "off" and source in draws.LEFT_OUT:
            continue
        result[source] = {"state": state, "block": block, "lane": lane,
                          "seed": str(draws.derive_seed(seed, source, block, lane))}
    return result


def _value(setting: settings_of.Setting, text: str) -> Any:
    if setting["kind"] in ("text", "choice"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return float(value) if setting["kind"] == "number" and type(value) is int else value


def _settings_help(schema: list[settings_of.Setting]) -> str:
    lines = ["settings:"]
    for setting in schema:
        lines.append(f"  {setting['path']} = {json.dumps(setting['otherwise'])}"
                     f"   {setting.get('help', '')}".rstrip())
    return "\n".join(lines if schema else ["This script has no settings."])


def show(line: str) -> None:
    """Events for people."""
    event = json.loads(line)
    kind = event.pop("event")
    if kind == "records":
        for step, epoch, metric, value in event["records"]:
            print(f"step {step}  epoch {epoch:.4g}  {metric} {value:.6g}"
                  if not isinstance(value, str) else f"step {step}  {metric} {value}")
    elif kind in ("done", "diverged", "failed"):
        print(kind + (f": {event['message']}" if event["message"] else ""))
        for name, value in sorted(event["hashes"].items()):
            print(f"  {name} {value[:16]}")
        for name, value in sorted(event["metrics"].items()):
            print(f"  {name} {value}")
