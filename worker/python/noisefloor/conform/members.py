"""Whether a script that is a member keeps its word: control, sources, going on, files."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, Callable, NamedTuple

from noisefloor.conform.protocol import Ended, Script
from noisefloor.conform.runs import Broken
from noisefloor.member import measures, tensors

_SEEDED = ("init", "data_order", "augment", "dropout")
# What freeing a source must leave as it was: it is drawn before.
_UNTOUCHED = {"data_order": ("init",), "augment": ("init",), "dropout": ("init", "first_batches")}
_ORDER = ("init", "first_batches")


class Check(NamedTuple):
    name: str
    good: bool
    words: str


class Word:
    """The checks of one script, and what its runs came to."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.acts: dict[str, list[str]] = {}  # By source: the hashes that change when it is free.

    def say(self, name: str, good: bool, words: str) -> None:
        self.checks.append(Check(name, good, words))


def check(script: Script, values: dict[str, Any], say: Callable[[str], None]) -> Word:
    """`values`: settings that make it short. Broken: it cannot be tried."""
    word = Word()
    say("control, twice")
    first, second = script.train(**values), script.train(**values)
    if not first.done:
        raise Broken(f"as a member it ends with {first.outcome['event']}: "
                     f"{first.outcome['message']}\n{first.said[-3000:]}")
    where = difference(first, second)
    word.say("control", not where, "two trainings with every source fixed "
             + ("have equal bits" if not where else f"differ in {where}"))
    _identities(word, script, first)
    _files(word, first)
    _sources(word, script, values, first, say)
    _going_on(word, script, values, first, say)
    return word


def difference(a: Ended, b: Ended) -> str:
    """The first thing in which they differ, in the order of a training; empty: none."""
    left, right = a.outcome.get("hashes", {}), b.outcome.get("hashes", {})
    names = sorted(set(left) | set(right), key=lambda name: (
        _ORDER.index(name) if name in _ORDER else 9, name))
    for name in names:
        if left.get(name) != right.get(name):
            return f"the hash {name}"
    if a.outcome.get("metrics") != b.outcome.get("metrics"):
        return "the metrics"
    for name, i, j in (("the ending", 0, 0), ("the records", 3, 3), ("the files", 4, 4)):
        if a.bits()[i] != b.bits()[j]:
            return name
    return ""


def _identities(word: Word, script: Script, ended: Ended) -> None:
    hello = next((e for e in ended.events if e["event"] == "hello"), {})
    told = bool(hello.get("data_identity"))
    word.say("data", told, "the data have an identity" if told
             else "no identity of the data before the first step: run.data(...)")
    same = hello.get("build") == script.described["build"]
    word.say("build", same, "the build is the one that --describe tells" if same
             else "the build differs from the one that --describe tells: import all modules at the "
             "top of the script")
    facts = hello.get("environment", {})
    same = facts.get("stack_fingerprint") == script.described["fingerprint"]
    word.say("software", same, "packages are those that --describe tells" if same
             else "packages are imported after nf.main began: import them at the top of the script")
    for name, call in (("init", "run.initial(...)"), ("first_batches", "run.batch(...)"),
                       ("weights", "run.finish(model)")):
        if name not in ended.outcome["hashes"]:
            word.say(name, False, f"there is no hash {name}: {call}")


def _files(word: Word, ended: Ended) -> None:
    problems = []
    for event in ended.events:
        if event["event"] != "artifact":
            continue
        content = ended.files.get(event["path"])
        if content is None:
            problems.append(f"{event['path']} is not there")
        elif (len(content), hashlib.sha256(content).hexdigest()) != (event["size"], event["sha256"]):
            problems.append(f"{event['path']} is not as it was told")
    answers = ended.files.get("predictions.npy")
    labels = ended.files.get("evaluation_labels.npy")
    if answers is None:
        problems.append("there is no predictions.npy")
    elif labels is not None:
        measured = measures.measure(read_npy(answers), read_npy(labels)).metrics
        told = {name: float(value) for name, value in ended.outcome["metrics"].items()}
        if any(not math.isclose(value, told.get(name, math.inf), rel_tol=1e-6)
               for name, value in measured.items() if math.isfinite(value)):
            problems.append(f"predictions and labels give {measured}, told was {told}")
    word.say("files", not problems, "; ".join(problems) or "files are whole and give the metrics "
             "that are told")
    if labels is None:
        word.say("evaluation set", True, "no labels are kept: run.evaluation_set(labels, images) "
                 "lets reports show examples")


def read_npy(content: bytes) -> tensors.Tensor:
    size = struct.unpack("<H", content[8:10])[0]
    header = content[10:10 + size].decode()
    kind = next(kind for code, kind in (("<f4", "float32"), ("<i4", "int32"), ("|u1", "uint8"))
                if code in header)
    shape = header[header.index("(") + 1:header.index(")")]
    return tensors.Tensor(kind, tuple(int(n) for n in shape.split(",") if n.strip()),
                          content[10 + size:])


def _sources(word: Word, script: Script, values: dict[str, Any], control: Ended,
             say: Callable[[str], None]) -> None:
    say("sources, one at a time and together")
    for source in _SEEDED:
        freed = script.train([source], **values)
        if not freed.done:
            word.say(source, False, f"free, it ends with {freed.outcome['message']}")
            continue
        before, after = control.outcome["hashes"], freed.outcome["hashes"]
        changed = [name for name in sorted(before) if before[name] != after.get(name)]
        word.acts[source] = changed
        wrong = [name for name in _UNTOUCHED.get(source, ()) if name in changed]
        if wrong:
            word.say(source, False, f"freeing {source} changes {' and '.join(wrong)}: the draws of "
                     "one source move those of another")
        elif source == "init" and changed and "init" not in changed and "init" in before:
            word.say(source, False, "freeing init changes results, but not the initial parameters")
    acting = [source for source, changed in word.acts.items() if changed]
    word.say("sources", bool(acting), "freed, these change results: " + ", ".join(acting)
             if acting else "freeing a source changes nothing: draw from run.init, run.data_order, "
             "run.augment or run.dropout")
    if not acting:
        return
    one, again, other = (script.train(acting, replicate, **values) for replicate in (1, 1, 2))
    where = difference(one, again)
    word.say("lanes", not where, "equal lanes have equal bits" if not where
             else f"two trainings of one lane differ in {where}")
    word.say("replicates", bool(difference(one, other)), "replicates differ"
             if difference(one, other) else "two replicates have equal bits, though sources are free")


def _going_on(word: Word, script: Script, values: dict[str, Any], control: Ended,
              say: Callable[[str], None]) -> None:
    say("stopped by SIGTERM, and started again")
    half = script.train(stop_at="progress", **values)
    measured = half.outcome.get("environment", {}).get("measured", {})
    if half.done and measured.get("steps"):
        word.say("stop", True, "it was too quick to be stopped: not tried")
        return
    if half.done:
        word.say("stop", False, "it came to its end after SIGTERM: call run.step() after each step, "
                 "and run.progress(...) before the first")
        return
    good = half.code == 14 and half.outcome.get("cause") == "interrupted"
    word.say("stop", good, "it stops after SIGTERM" if good else
             f"after SIGTERM it ends with exit code {half.code}, {half.outcome.get('cause')}, "
             "expected 14, interrupted: run.step() after each step, and no `except BaseException`")
    rest = script.train(**values)
    where = difference(control, rest)
    resumed = rest.outcome.get("environment", {}).get("measured", {}).get("resumed_at")
    if where:
        word.say("going on", False, f"after that it ends elsewhere: in {where}")
    else:
        word.say("going on", True, f"it goes on from step {resumed[-1]} to the same bits" if resumed
                 else "it begins anew and comes to the same bits: run.checkpoint(...) would save time")
