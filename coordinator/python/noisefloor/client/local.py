"""A coordinator and a worker of this machine's own, for notebooks and scripts.

Both end with the process that started them, however it ends: holder.py is between.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Mapping, Sequence

from noisefloor.client.errors import NoCoordinator


class Local:
    """One that serves, until stop() or the end of this process."""

    def __init__(self, holder: subprocess.Popen[str], address: str, home: str) -> None:
        self._holder = holder
        self.address = address  # For Client() and AsyncClient().
        self.home = home  # Client(home=...): also of a home that wants tokens.

    def stop(self) -> None:
        """Trainers are stopped; a home that was temporary is removed. Again: nothing."""
        if self._holder.stdin and not self._holder.stdin.closed:
            self._holder.stdin.close()
        self._holder.wait()
        if self._holder.stdout:
            self._holder.stdout.close()

    def __enter__(self) -> Local:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()


def serve(home: str | os.PathLike[str] = "", *, slots: int = 0,
          trainers: Mapping[str, str] | None = None, worker: Sequence[str] | None = (),
          log: str | os.PathLike[str] = "") -> Local:
    """Starts a coordinator on a free port of loopback and a worker, which are there when it returns.

    `home`: its data directory; without one a temporary one, removed at the end. `slots`: trainers
    side by side; 0: one for each core. `trainers`: by stack, as `--trainer STACK=COMMAND` says
    them; none: our own. `worker`: more options of noisefloor-worker; None: no worker. `log`: a
    file for what both say; without one inside the home. NoCoordinator says why it does not start.

    A home with `noisefloor access init` is served to Client(home=local.home), with worker=None: a
    worker there needs a token of its own.
    """
    if worker is not None and home and _wants_tokens(os.fspath(home)):
        raise NoCoordinator(
            f"{os.fspath(home)} has keys and tokens of `noisefloor access init`, and serve() has no "
            "token for a worker: serve(home, worker=None) and Client(home=home), or `noisefloor "
            "serve` and a noisefloor-worker with its access file")
    programs = [_program("noisefloor"), _program("noisefloor-worker")]
    folder = os.path.abspath(os.fspath(home)) if home else tempfile.mkdtemp(prefix="noisefloor-")
    options = [f"--trainer={name}={command}" for name, command in (trainers or {}).items()]
    options += [f"--slots={slots}"] * (slots > 0)
    wish = {"programs": programs, "home": folder, "temporary": not home,
            "worker": None if worker is None else [*options, *worker], "log": os.fspath(log)}
    holder = subprocess.Popen([sys.executable, "-m", "noisefloor.client.holder", json.dumps(wish)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    local = Local(holder, "", folder)
    assert holder.stdout is not None
    told = json.loads(holder.stdout.readline() or "{}")
    if "address" not in told:
        local.stop()
        raise NoCoordinator(told.get("problem", "the coordinator has not started"))
    local.address = told["address"]
    return local


def _wants_tokens(home: str) -> bool:
    """As coordinator/certificates/access_folder.h has it."""
    return os.path.exists(os.path.join(home, "access", "server.pem"))


def _program(name: str) -> str:
    """$NOISEFLOOR_BIN, beside this Python, on the path."""
    for folder in (os.environ.get("NOISEFLOOR_BIN", ""), os.path.dirname(sys.executable)):
        if folder and os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    found = shutil.which(name)
    if found is None:
        raise NoCoordinator(f"there is no program {name} on the path; $NOISEFLOOR_BIN may name its "
                            "folder")
    return found
