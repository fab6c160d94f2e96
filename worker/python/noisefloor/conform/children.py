"""Programs that end with this one, however it ends; with them what they have started, but where this
one is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any, Sequence

# The system kills the program when the thread that started it is gone. This is asked for by a
# program of its own: between fork and exec a process that had threads may run no Python.
_LAUNCHER = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


class Interrupted(BaseException):
    """This program was told to end."""


_lock = threading.RLock()  # The handler of a signal may come while it is held.
_running: set[subprocess.Popen[bytes]] = set()
_leaving = False


def start(words: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
    """As Popen starts it, in a session of its own; hand it to wait(). Any thread."""
    with _lock:
        if _leaving:
            raise Interrupted
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *words],
            start_new_session=True, **more)
        _running.add(process)
    return process


def wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, as Popen tells it."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with _lock:  # Until here its number is no other's.
        _running.discard(process)
        _kill(process)  # What it has left behind.
        return process.wait()


class Limit:
    """Kills a program that takes longer, while one is entered."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.exceeded = False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True  # Interrupted may come before what stops it.

    def _end(self) -> None:
        with _lock:
            if self._process in _running:
                self.exceeded = True
                _kill(self._process)

    def __enter__(self) -> Limit:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._end()  # Nobody will wait for it.
        self._timer.cancel()


def run(words: Sequence[str], seconds: float, **more: Any) -> int | None:
    """Its exit code; None: it took longer and was killed."""
    process = start(words, **more)
    with Limit(process, seconds) as limit:
        code = wait(process)
    return None if limit.exceeded else code


def interrupt(*_: object) -> None:
    """For signal.signal: all that runs is killed, nothing more is started, and the main thread
    gets Interrupted, once."""
    global _leaving
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with _lock:
        _leaving = True
        for process in _running:
            _kill(process)
        for process in _running:  # Its folders can be removed when it has gone.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    raise Interrupted


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
