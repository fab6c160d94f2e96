"""noisefloor's programs, as they lie in the wheel: commands of the environment become them."""

import os
import sys
from typing import NoReturn


def _become(name: str) -> NoReturn:
    # `conform` runs the Python that noisefloor is installed for.
    os.environ.setdefault("NOISEFLOOR_PYTHON", sys.executable)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libexec", name)
    os.execv(program, [name, *sys.argv[1:]])


def noisefloor() -> NoReturn:
    _become("noisefloor")


def worker() -> NoReturn:
    _become("noisefloor-worker")


def trainer() -> NoReturn:
    _become("noisefloor-trainer")
