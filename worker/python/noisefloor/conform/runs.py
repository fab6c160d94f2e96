"""Runs of a script in folders of their own, and what came of them."""

from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Callable, NamedTuple, Sequence

from noisefloor.conform import children
from noisefloor.conform.command import Command

_MOST_ENTRIES = 2000
_MOST_BYTES = 1 << 20  # Of a file that is copied; others are linked to.


class Broken(Exception):
    """The script does not run, so nothing can be said of it."""


class Wish(NamedTuple):
    """What is to differ from a baseline."""
    changes: dict[str, str] = {}
    options: dict[str, Any] = {}
    natural: bool = False  # With nothing held still.
    folder: str = ""  # To run in; else a new one.
    hash_seed: str = "0"


class Seen(NamedTuple):
    outcome: Any  # Equal outcomes: equal trainings.
    of: str  # What the outcome was taken of.
    events: list[dict[str, Any]]
    code: int
    said: str

    def told(self, event: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == event]


# Runs the command with these variables in this folder; exit code, output, and an outcome of its own.
Runner = Callable[[Command, dict[str, str], str], tuple[int, str, Any]]


class Workshop:
    """Makes runs. `jobs` at once; any thread."""

    def __init__(self, command: Command, jobs: int, timeout: float, run: Runner | None = None) -> None:
        self.command = command
        self._jobs = jobs
        self._timeout = timeout
        self._run = run or self._plainly
        self._own_outcome = run is not None
        self._base = tempfile.mkdtemp(prefix="noisefloor-conform-")
        self._count = 0
        self.runs = 0
        package = os.path.join(self._base, "package")
        os.mkdir(package)
        os.symlink(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                   os.path.join(package, "noisefloor"))
        path = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        # In every run: the script finds noisefloor, and leaves no compiled files behind.
        self.variables = {"PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)

    def folder(self) -> str:
        """A new one, that has what the working folder has: folders and large files by links."""
        self._count += 1
        made = os.path.join(self._base, f"run-{self._count}")
        os.mkdir(made)
        here = os.getcwd()
        for name in sorted(os.listdir(here))[:_MOST_ENTRIES]:
            path, to = os.path.join(here, name), os.path.join(made, name)
            if name == "__pycache__" or not os.path.exists(path):
                continue
            if os.path.isfile(path) and os.path.getsize(path) <= _MOST_BYTES:
                shutil.copy(path, to)
            else:
                os.symlink(path, to)
        return made

    def copied(self, folder: str) -> str:
        self._count += 1
        made = os.path.join(self._base, f"run-{self._count}")
        shutil.copytree(folder, made, symlinks=True)
        return made

    def see_all(self, wishes: Sequence[Wish]) -> list[Seen]:
        with concurrent.futures.ThreadPoolExecutor(self._jobs) as pool:
            return list(pool.map(self.see, wishes))

    def see(self, wish: Wish) -> Seen:
        self.runs += 1
        folder = wish.folder or self.folder()
        handle, log = tempfile.mkstemp(dir=self._base, suffix=".log")
        os.close(handle)
        asked = log + ".json"
        roots = {os.path.realpath(self.command.folder), os.path.realpath(os.getcwd()),
                 os.path.realpath(folder)}
        with open(asked, "w", encoding="utf-8") as file:
            json.dump({"log": log, "changes": wish.changes, "natural": wish.natural,
                       "options": {"folder": self.command.folder, **wish.options}}, file)
        variables = {**os.environ, "NOISEFLOOR_CONFORM": asked, "PYTHONHASHSEED": wish.hash_seed,
                     "NOISEFLOOR_CONFORM_ROOTS": os.pathsep.join(sorted(roots)), **self.variables}
        if wish.options.get("threads"):
            variables.update({name: str(wish.options["threads"]) for name in (
                "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")})
        code, said, own = self._run(self.command, variables, folder)
        with open(log, encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
        if not wish.folder:
            shutil.rmtree(folder, ignore_errors=True)
        outcomes = [e for e in events if e["event"] == "outcome"]
        outcome = own if self._own_outcome else outcomes[-1]["digest"] if outcomes else None
        of = "hashes of the member" if self._own_outcome else \
            outcomes[-1]["of"] if outcomes else "nothing"
        return Seen(outcome, of, events, code, said)

    def _plainly(self, command: Command, variables: dict[str, str],
                 folder: str) -> tuple[int, str, Any]:
        handle, path = tempfile.mkstemp(dir=self._base, suffix=".out")
        with os.fdopen(handle, "wb") as said:
            code = children.run(command.observed(), self._timeout, env=variables, cwd=folder,
                                stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        if code is None:
            raise Broken(f"a run took longer than {self._timeout:g} s: --timeout")
        with open(path, errors="replace", encoding="utf-8") as text:
            return code, text.read(), None
