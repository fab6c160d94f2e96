"""python -m noisefloor.conform -- python train.py: see worker/python/README.md, "conform"."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from typing import Any

from noisefloor.conform import children, command, leaks, members, report, runs
from noisefloor.conform.protocol import Script


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, children.interrupt)
    try:
        return _try()
    except children.Interrupted:
        print("noisefloor conform: interrupted", file=sys.stderr)
        return 130


def _try() -> int:
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    given = _parser().parse_args(words[:at])
    began = time.monotonic()
    try:
        asked = command.parse(words[at + 1:])
        values = dict(_setting(text) for text in given.set)
        if values and not asked.is_member():
            raise command.BadCommand("--set: this script does not import noisefloor.member")
        told = _check(asked, given, values) if asked.is_member() else _search(asked, given)
    except (command.BadCommand, runs.Broken) as error:
        print(f"noisefloor conform: {error}", file=sys.stderr)
        return 2 if isinstance(error, command.BadCommand) else 1
    told["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(told, indent=1) if given.output == "json" else report.text(told))
    return 0 if told["conforms"] else 5


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="noisefloor conform", usage="noisefloor conform [options] -- python train.py [arguments]",
        description="Tries a training script: does it repeat, and which lines let in what is not "
        "its own. Exit codes: 0 nothing found, 5 something found, 1 it does not run, 2 usage, 130 "
        "interrupted.")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE",
                        help="a setting of a member, to make it short; may be repeated")
    parser.add_argument("--data-root", default=os.environ.get("NOISEFLOOR_DATA", ""), metavar="DIR",
                        help="what run.data_root is to be (default: $NOISEFLOOR_DATA)")
    parser.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)), metavar="N",
                        help="runs at once (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS",
                        help="of one run (default: %(default)g)")
    return parser


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise command.BadCommand(f"--set {text}: expected PATH=VALUE")
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value


def _say(text: str) -> None:
    print(f"conform: {text}", file=sys.stderr, flush=True)


def _search(asked: command.Command, given: argparse.Namespace) -> dict[str, Any]:
    shop = runs.Workshop(asked, given.jobs, given.timeout)
    try:
        found = leaks.search(shop, False, _say)
        return report.facts(found, None, shop.runs)
    finally:
        shop.close()


def _check(asked: command.Command, given: argparse.Namespace,
           values: dict[str, Any]) -> dict[str, Any]:
    """Of a member: first whether it keeps its word, then what comes in."""
    def run(of: command.Command, variables: dict[str, str], folder: str) -> tuple[int, str, Any]:
        with tempfile.TemporaryDirectory(prefix="nf-checkpoints-") as checkpoints:
            script = Script(of.observed(), checkpoints, variables, folder=folder,
                            timeout=given.timeout, data_root=given.data_root)
            ended = script.train(**values)
            return ended.code, ended.said, ended.outcome.get("hashes") if ended.done else None

    shop = runs.Workshop(asked, given.jobs, given.timeout, run)
    try:
        with tempfile.TemporaryDirectory(prefix="nf-checkpoints-") as checkpoints:
            script = Script(asked.words, checkpoints, shop.variables, folder=shop.folder(),
                            timeout=given.timeout, data_root=given.data_root)
            try:
                word = members.check(script, values, _say)
            except RuntimeError as error:
                raise runs.Broken(f"--describe: {error}") from error
        found = leaks.search(shop, True, _say)
        return report.facts(found, word, shop.runs)
    finally:
        shop.close()


if __name__ == "__main__":
    sys.exit(main())
