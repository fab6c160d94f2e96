"""A member that trains in several processes, as PyTorch's DistributedDataParallel does.

The process that the worker started has the request and is rank 0. It starts the others with the
same command line; they are told the request by a file, and report nothing of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import Any, Callable

_REQUEST = "NOISEFLOOR_REQUEST"  # Path of the request: this process is no rank 0.
_GRACE = 5.0  # Seconds that others get to end after one has failed.


def request_of_rank() -> dict[str, Any] | None:
    """What rank 0 was asked, in another rank, which from now on ends with rank 0; None in rank 0."""
    path = os.environ.get(_REQUEST)
    if path is None:
        return None
    threading.Thread(target=_end_with_rank_0, daemon=True).start()
    with open(path, encoding="utf-8") as file:
        request: dict[str, Any] = json.load(file)
    return request


def _end_with_rank_0() -> None:
    os.read(0, 1)  # Rank 0 holds the other end, and writes nothing.
    os._exit(1)


class Processes:
    """The other ranks, of rank 0."""

    def __init__(self, request: dict[str, Any], count: int,
                 failed: Callable[[int, int], None]) -> None:
        """`failed` is called with a rank and its exit code, in a thread of its own, when a rank has
        ended badly and this one has not noticed for some seconds."""
        folder = os.path.join(request["work_directory"], "ranks")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "request.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(request, file)
        with contextlib.suppress(FileNotFoundError):  # Of an earlier run: ranks would meet its.
            os.remove(_meeting(folder))
        os.environ.update(_variables(0, count, folder))
        self._failed = failed
        self._ending = threading.Event()
        self._first: tuple[int, int] | None = None  # Rank and exit code, of the first that failed.
        self._one_failed = threading.Event()
        self._children = [self._start(rank, count, folder, path) for rank in range(1, count)]
        for rank, child in enumerate(self._children, 1):
            threading.Thread(target=self._watch, args=(rank, child), daemon=True).start()

    @staticmethod
    def _start(rank: int, count: int, folder: str, path: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **_variables(rank, count, folder), _REQUEST: path}
        environment.pop("NOISEFLOOR_EVENTS", None)
        return subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env=environment,
                                stdin=subprocess.PIPE)

    def _watch(self, rank: int, child: subprocess.Popen[bytes]) -> None:
        code = child.wait()
        if code == 0 or self._ending.is_set():
            return
        if self._first is None:
            self._first = (rank, code)
        self._one_failed.set()
        if not self._ending.wait(_GRACE):
            self._failed(rank, code)

    def join(self) -> str:
        """Waits until all have ended; what went wrong, empty if nothing did."""
        self._ending.set()
        codes = [child.wait() for child in self._children]
        bad = [(rank, code) for rank, code in enumerate(codes, 1) if code != 0]
        return f"rank {bad[0][0]} ended with exit code {bad[0][1]}" if bad else ""

    def stop(self) -> tuple[int, int] | None:
        """Ends all, whatever they do; rank and exit code of one that had failed by itself."""
        first = self._first if self._one_failed.wait(_GRACE / 5) else None
        self._ending.set()
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
        return first


def _variables(rank: int, count: int, folder: str) -> dict[str, str]:
    """What torch.distributed reads. Meeting by a file needs no port."""
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count),
            "LOCAL_WORLD_SIZE": str(count),
            "NOISEFLOOR_MEETING": "file://" + os.path.abspath(_meeting(folder))}


def _meeting(folder: str) -> str:
    return os.path.join(folder, "meeting")
