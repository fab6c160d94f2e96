"""The events of one attempt: worker/trainer/README.md, "Events"."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import threading
import time
from typing import Any, Callable, Iterator

from noisefloor.member import tensors
from noisefloor.member.errors import Refused

Record = list[Any]  # [step, epoch, metric, value]


def number(value: float) -> Any:
    """As events have it: what is not finite is a text."""
    value = float(value)
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


class Journal:
    """Writes events through `write`, which gets a line with its end. Any thread."""

    MOST_FILES = 1000  # Of an attempt: what a worker takes.
    MOST_WAITING = 10000  # Records.
    SECONDS = 1.0  # That a record waits for others.

    def __init__(self, write: Callable[[str], None] | None, work_directory: str) -> None:
        """`write` = None: nothing is told and no file kept."""
        self._write = write
        self.greeting: Callable[[], dict[str, Any]] | None = None  # What comes before all else.
        self.greeted = False  # It is told: what it says stays.
        self._holds = False
        self._held: list[dict[str, Any]] = []  # Events behind the greeting, told with it.
        self._work = work_directory
        self._lock = threading.Lock()
        self._waiting: list[Record] = []
        self._since = 0.0
        self._sequence = 0
        self.all: list[Record] = []  # What a checkpoint keeps, as it does the next.
        self.files: list[tuple[str, str, str]] = []  # Kind, name, SHA-256.

    def greet(self) -> None:
        """Tells the first event, unless it is told."""
        with self._lock:
            self._greet()

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """What is told in the body does not bring the greeting about, and waits for it."""
        self._holds = self.greeting is not None
        try:
            yield
        finally:
            self._holds = False

    def tell(self, event: str, **content: Any) -> None:
        with self._lock:
            self._flush()
            self._line({"event": event, **content})

    def record(self, step: int, epoch: float, metric: str, value: float) -> None:
        entry: Record = [int(step), number(epoch), metric, number(value)]
        with self._lock:
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(entry)
            self.all.append(entry)
            if (len(self._waiting) >= self.MOST_WAITING
                    or time.monotonic() - self._since > self.SECONDS):
                self._flush()

    def resume(self, records: list[Record]) -> None:
        """What an earlier attempt had recorded until its checkpoint is this one's, too."""
        with self._lock:
            for at in range(0, len(records), self.MOST_WAITING):
                self._waiting = records[at:at + self.MOST_WAITING]
                self._flush()
            self.all = list(records)

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def keep(self, kind: str, name: str, content: bytes) -> None:
        """Writes a file and tells of it."""
        if self._write is None:
            return
        if len(self.files) == self.MOST_FILES:
            raise Refused(f"{name}: a member leaves at most {self.MOST_FILES} files; keep those of "
                          "fewer evaluations")
        tensors.write_whole(os.path.join(self._work, name), content)
        sha256 = hashlib.sha256(content).hexdigest()
        self.files.append((kind, name, sha256))
        self.tell("artifact", kind=kind, path=name, size=len(content), sha256=sha256)

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._sequence += 1
        records, self._waiting = self._waiting, []
        self._line({"event": "records", "sequence": self._sequence, "records": records})

    def _greet(self) -> None:
        greeting, self.greeting = self.greeting, None
        if greeting is not None:
            self.greeted = True
            held, self._held = self._held, []
            for event in [greeting(), *held]:
                self._line(event)

    def _line(self, event: dict[str, Any]) -> None:
        if self._write is None:
            return
        if self._holds:
            self._held.append(event)
            return
        self._greet()
        self._write(json.dumps(event, separators=(",", ":")) + "\n")
