"""What the tests of scripts share: where scripts, Pythons and checkpoints are."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from typing import Sequence

from noisefloor.conform.protocol import Ended, Script as _Script

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")
DATA = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/data")


class Script(_Script):
    """With a folder of its own for checkpoints, and trainings that are done once for all tests."""

    def __init__(self, command: Sequence[str], variables: dict[str, str] | None = None) -> None:
        checkpoints = tempfile.mkdtemp(prefix="nf-checkpoints-")
        atexit.register(shutil.rmtree, checkpoints)
        super().__init__(command, checkpoints, variables, data_root=DATA)
        self._references: dict[tuple[str, ...], Ended] = {}

    def reference(self, *free: str) -> Ended:
        """A training that went through."""
        if free not in self._references:
            self._references[free] = self.train(free)
            assert self._references[free].code == 0, self._references[free].said
        return self._references[free]


def interpreter(framework: str) -> list[str] | None:
    """The words of a Python that has a framework: $NOISEFLOOR_PYTHON_TORCH and so on, else what
    deploy/setup has installed; None: there is none."""
    words = shlex.split(os.environ.get(f"NOISEFLOOR_PYTHON_{framework.upper()}", ""))
    if words:
        return words
    cache = os.environ.get("NOISEFLOOR_CACHE", os.path.expanduser("~/.cache/noisefloor"))
    path = os.path.join(cache, f"python-{framework}")
    return [path] if os.path.exists(path) else None
