"""Runs a script as a worker does, for tests: requests, events, signals."""

from __future__ import annotations

import atexit
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import Any, NamedTuple, Sequence

from noisefloor.member import by_hand, settings

PATIENCE = 300.0  # Seconds.
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")


class Ended(NamedTuple):
    events: list[dict[str, Any]]
    code: int
    files: dict[str, bytes]  # Of the work directory.
    said: str  # On standard output and error.

    @property
    def outcome(self) -> dict[str, Any]:
        return self.events[-1]

    def bits(self) -> Any:
        """All that must be equal where bits are."""
        records = [r for e in self.events if e["event"] == "records" for r in e["records"]]
        files = {name: content for name, content in self.files.items() if "/" not in name}
        last = self.outcome
        return last["event"], last["hashes"], last["metrics"], records, files


class Script:
    """A trainer's command, as words; with a folder for its checkpoints."""

    def __init__(self, command: Sequence[str], variables: dict[str, str] | None = None) -> None:
        self.command = list(command)
        self._references: dict[tuple[str, ...], Ended] = {}
        self.checkpoints = tempfile.mkdtemp(prefix="nf-checkpoints-")
        atexit.register(shutil.rmtree, self.checkpoints)
        self.variables = {**os.environ, "PYTHONHASHSEED": "0", **(variables or {}),
                          "NOISEFLOOR_CHECKPOINTS": self.checkpoints}
        done = subprocess.run([*self.command, "--describe"], capture_output=True, text=True,
                              env=self.variables, stdin=subprocess.DEVNULL, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        self.described: dict[str, Any] = json.loads(done.stdout)

    def request(self, work: str, free: Sequence[str] = (), replicate: int = 0,
                **values: Any) -> dict[str, Any]:
        chosen = {**settings.defaults(self.described["settings"]), **values}
        specification = {**settings.nested(chosen), "hardware_class": "",
                         "stack": self.described["stack"],
                         "noise": by_hand.noise(0, list(free), replicate)}
        return {"protocol": 1, "member": "s1c0r0", "attempt": 1, "specification": specification,
                "data_root": os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/data"),
                "work_directory": work, "write_evaluation_set": True}

    def reference(self, *free: str) -> Ended:
        """A training that went through, trained once for all tests."""
        if free not in self._references:
            self._references[free] = self.train(free)
            assert self._references[free].code == 0, self._references[free].said
        return self._references[free]

    def train(self, free: Sequence[str] = (), replicate: int = 0, *, stop_at: str = "",
              stop: signal.Signals = signal.SIGTERM, change: Any = None, **values: Any) -> Ended:
        """`stop_at`: after the first event of this kind the signal comes."""
        with tempfile.TemporaryDirectory(prefix="nf-work-") as work:
            request = self.request(work, free, replicate, **values)
            if change is not None:
                change(request)
            return self._run(json.dumps(request) + "\n", work, stop_at, stop)

    def _run(self, line: str, work: str, stop_at: str, stop: signal.Signals) -> Ended:
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=said, stderr=said, pass_fds=[writer],
                env={**self.variables, "NOISEFLOOR_EVENTS": str(writer)}, start_new_session=True)
            os.close(writer)
            assert process.stdin is not None
            process.stdin.write(line.encode())
            process.stdin.close()
            # Only so that a test ends that would hang.
            hanging = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
            hanging.start()
            events = []
            with os.fdopen(reader) as lines:
                for text in lines:
                    events.append(json.loads(text))
                    if events[-1]["event"] == stop_at:
                        stop_at = ""
                        process.send_signal(stop)
            code = process.wait()
            hanging.cancel()
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


def interpreter(framework: str) -> list[str] | None:
    """The words of a Python that has a framework: $NOISEFLOOR_PYTHON_TORCH and so on, else what
    deploy/setup has installed; None: there is none."""
    words = shlex.split(os.environ.get(f"NOISEFLOOR_PYTHON_{framework.upper()}", ""))
    if words:
        return words
    cache = os.environ.get("NOISEFLOOR_CACHE", os.path.expanduser("~/.cache/noisefloor"))
    path = os.path.join(cache, f"python-{framework}")
    return [path] if os.path.exists(path) else None
