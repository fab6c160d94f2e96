"""A script that is a member, run as a worker runs it: requests, events, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Any, Callable, NamedTuple, Sequence

from noisefloor.conform import children
from noisefloor.member import by_hand, settings


class Ended(NamedTuple):
    events: list[dict[str, Any]]
    code: int
    files: dict[str, bytes]  # Of the work directory, by their names in it.
    said: str  # On standard output and error.

    @property
    def outcome(self) -> dict[str, Any]:
        """The last event; a made one, of a script that has told nothing."""
        if self.events:
            return self.events[-1]
        return {"event": "failed", "cause": "bug", "message": "it told no event", "hashes": {},
                "metrics": {}}

    @property
    def done(self) -> bool:
        return self.outcome["event"] in ("done", "diverged") and self.code == 0

    def bits(self) -> Any:
        """All that must be equal where bits are."""
        records = [r for e in self.events if e["event"] == "records" for r in e["records"]]
        files = {name: content for name, content in self.files.items() if os.sep not in name}
        last = self.outcome
        return last["event"], last.get("hashes"), last.get("metrics"), records, files


class Script:
    """A trainer's command, as words, with a folder for its checkpoints that somebody else owns."""

    def __init__(self, command: Sequence[str], checkpoints: str,
                 variables: dict[str, str] | None = None, *, folder: str | None = None,
                 timeout: float = 300.0, data_root: str = "") -> None:
        """variables: besides ours. timeout: seconds of a training, after which it is killed."""
        self.command = list(command)
        self.checkpoints = checkpoints
        self.variables = {**os.environ, "PYTHONHASHSEED": "0", **(variables or {}),
                          "NOISEFLOOR_CHECKPOINTS": checkpoints}
        self._folder = folder
        self._timeout = timeout
        self._data_root = data_root
        self._described: dict[str, Any] | None = None

    @property
    def described(self) -> dict[str, Any]:
        """RuntimeError: it does not describe itself."""
        if self._described is None:
            said = self._describe().strip()  # As the worker takes it.
            self._described = json.loads(said if said.startswith("{") else said.split("\n")[-1])
        return self._described

    def _describe(self) -> str:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            code = children.run([*self.command, "--describe"], self._timeout, stdout=out,
                                stderr=error, stdin=subprocess.DEVNULL, env=self.variables,
                                cwd=self._folder)
            texts = []
            for file in (out, error):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        if code is None:
            raise RuntimeError(f"it took longer than {self._timeout:g} s")
        if code != 0:
            raise RuntimeError("".join(texts))
        return texts[0]

    def request(self, work: str, free: Sequence[str], replicate: int,
                values: dict[str, Any]) -> dict[str, Any]:
        chosen = {**settings.defaults(self.described["settings"]), **values}
        specification = {**settings.nested(chosen), "hardware_class": "",
                         "stack": self.described["stack"],
                         "noise": by_hand.noise(0, list(free), replicate)}
        return {"protocol": 1, "member": "s1c0r0", "attempt": 1, "specification": specification,
                "data_root": self._data_root, "work_directory": work, "write_evaluation_set": True}

    def train(self, free: Sequence[str] = (), replicate: int = 0, *, stop_at: str = "",
              stop: signal.Signals = signal.SIGTERM,
              change: Callable[[dict[str, Any]], None] | None = None, **values: Any) -> Ended:
        """`stop_at`: after the first event of this kind the signal comes. `change`: of the request.
        values: settings."""
        with tempfile.TemporaryDirectory(prefix="nf-work-") as work:
            request = self.request(work, free, replicate, values)
            if change is not None:
                change(request)
            return self._run(json.dumps(request) + "\n", work, stop_at, stop)

    def _run(self, line: str, work: str, stop_at: str, stop: signal.Signals) -> Ended:
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as said:
            process = children.start(
                self.command, stdin=subprocess.PIPE, stdout=said, stderr=said, pass_fds=[writer],
                env={**self.variables, "NOISEFLOOR_EVENTS": str(writer)}, cwd=self._folder)
            os.close(writer)
            assert process.stdin is not None
            try:
                process.stdin.write(line.encode())
                process.stdin.close()
            except BrokenPipeError:
                pass  # It has ended, and its exit code says why.
            events: list[dict[str, Any]] = []
            with children.Limit(process, self._timeout):
                with os.fdopen(reader) as lines:
                    for text in lines:
                        events.append(json.loads(text))
                        if events[-1]["event"] == stop_at:
                            stop_at = ""
                            os.kill(process.pid, stop)
                code = children.wait(process)
            said.seek(0)
            return Ended(events, code, _files(work), said.read().decode(errors="replace"))


def _files(folder: str) -> dict[str, bytes]:
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files
