"""A training script as a member of a study: `import noisefloor.member as nf`.

    def train(run):
        with run.init:
            model = Net()
        ...
    nf.main(train, settings={"train.epochs": 3})

worker/python/README.md is the guide. Import it before jax, tensorflow and numpy, so that these are
loaded with the variables of the hardware class.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from noisefloor.member import hardware as _hardware

_hardware.prepare()

from noisefloor.member.errors import BadData, Diverged, Interrupted, LostDevice, Refused  # noqa: E402
from noisefloor.member.program import main, member  # noqa: E402
from noisefloor.member.run import Run  # noqa: E402
from noisefloor.member.settings import (  # noqa: E402
    boolean, choice, integer, integers, number, text)
from noisefloor.member.sources import Source  # noqa: E402

__all__ = ["BadData", "Diverged", "Interrupted", "LostDevice", "Refused", "Run", "Source",
           "boolean", "choice", "integer", "integers", "main", "member", "number", "text"]


def __getattr__(name: str) -> ModuleType:
    """nf.torch, nf.jax, nf.keras, nf.data and nf.images are loaded when they are asked for."""
    if name in ("torch", "jax", "keras", "data", "images"):
        return importlib.import_module(f"noisefloor.member.{name}")
    raise AttributeError(f"module 'noisefloor.member' has no attribute '{name}'")
