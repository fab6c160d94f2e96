"""What a check has found, in words for people."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    place: str  # "train.py:18", or empty: of the whole.
    kind: str  # "clock", "entropy", "generator", ...
    what: str
    seen: str  # "observed" or "read from a switch".
    help: str

    def line(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.what} [{self.seen}]"


_WHAT = {
    "clock": "{what}: the result depends on the time",
    "clock scale": "{what}: the result depends on how long things take",
    "entropy": "{what}: new entropy in every run",
    "process": "{what}: the result depends on the number of the process or thread",
    "machine": "{what}: the result depends on the name of the machine or user",
    "cores": "{what}: the result depends on the number of cores or threads",
    "hash": "{what} of a text or object: another one in every process (PYTHONHASHSEED)",
    "address": "{what}: the result depends on addresses in memory",
    "listing": "{what}: the order of entries is the file system's",
    "completion": "{what}: the result depends on which finishes first",
    "set": "the order of a set: that of hashes or addresses, another one in every process",
    "memory": "{what}: memory that nobody has written is used",
}
_HELP = {
    "clock": "draw seeds from a source of the run: run.init.key(...)",
    "clock scale": "count steps, not seconds",
    "entropy": "give it a seed of the run's: run.augment.key(...), or draw in `with run.augment:`",
    "process": "use the rank or the worker's number, and a seed of the run's",
    "machine": "leave it out of what seeds or chooses",
    "cores": "fix the number: the sums of other numbers of threads differ in their last bits",
    "hash": "hashlib or zlib.crc32 give the same everywhere",
    "address": "number things in the order in which they are made",
    "listing": "sorted(...)",
    "completion": "take results in the order in which they were asked for",
    "set": "sorted(...), or dict.fromkeys(...), which keeps the order",
    "memory": "zeros, or fill it before it is read",
}


def of_site(place: str, kind: str, what: str) -> Finding:
    words = _WHAT[kind].format(what=f"{what}()" if not what.startswith("the ") else what)
    return Finding(short(place), kind, words, "observed", _HELP[kind])


def of_generator(place: str, generator: str, ground: bool) -> Finding:
    name = {"random": "random", "numpy": "numpy.random", "torch": "torch"}[generator]
    if ground:
        return Finding(short(place), "generator",
                       f"draws from the generator of {name} outside of every source", "observed",
                       "put it into the body of a source: `with run.augment:`")
    return Finding(short(place), "generator",
                   f"draws from the generator of {name}, which nothing has seeded before", "observed",
                   "draw in the body of a source, or seed it")


def of_tensorflow() -> Finding:
    return Finding("", "generator", "draws from the generator of TensorFlow, which nothing has seeded "
                   "before", "observed", "keras.utils.set_random_seed, or a seed for each layer")


def of_operation(place: str, operation: str) -> Finding:
    return Finding(short(place), "operation",
                   f"{operation} gave other bits when it was done again", "observed",
                   "torch.use_deterministic_algorithms(True), which a run sets, or one thread")


def of_resume(place: str, generators: bool) -> Finding:
    why = "the states of the generators are not in it" if generators else "it does not hold all"
    return Finding(short(place), "checkpoint",
                   f"a training that goes on from this checkpoint ends elsewhere: {why}", "observed",
                   "run.checkpoint(...) and run.restore() keep them")


_SWITCHES = {
    "benchmark": ("cuDNN's autotune chooses algorithms by timing them",
                  "leave it to the source `autotune`"),
    "in_order": ("batches come as workers finish, not in order", "in_order=True"),
}


def of_switch(place: str, name: str) -> Finding:
    what, help = _SWITCHES[name.rpartition(".")[2]]
    return Finding(short(place), "switch", f"{name} is set: {what}", "read from a switch", help)


def short(place: str) -> str:
    """"train.py:18" of "train.py:18:4"."""
    return place.rpartition(":")[0]
