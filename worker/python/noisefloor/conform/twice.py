"""Every operation of PyTorch done twice: one whose bits differ is named with the line that asked
for it, of a backward operation the line of its forward one."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from noisefloor.conform import sites
from noisefloor.conform.rewrite import is_own, shown

_DRAWS_OR_VIEWS = ("rand", "empty", "normal", "uniform", "bernoulli", "dropout", "multinomial",
                   "exponential", "set_", "detach", "alias", "view", "expand", "slice", "select",
                   "resize", "native_dropout", "poisson", "_local_scalar")
_MOST = 400  # Of one operation at one place.


def install(torch: Any) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    counts: dict[tuple[str, str], int] = {}
    found: set[tuple[str, str]] = set()

    def copied(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) else value

    class Twice(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                               keywords: Any = None) -> Any:
            keywords = keywords or {}
            name = str(function)
            if any(part in name for part in _DRAWS_OR_VIEWS):
                return function(*args, **keywords)
            place = _place(torch)
            counts[name, place] = counts.get((name, place), 0) + 1
            if counts[name, place] > _MOST or (name, place) in found:
                return function(*args, **keywords)
            again_args = tree_map(copied, args) if function._schema.is_mutable else args
            first = function(*args, **keywords)
            again = function(*again_args, **keywords)
            if not _equal(torch, first, again):
                found.add((name, place))
                sites.tell("twice", place=place, operation=name)
            return first

    torch.autograd.set_detect_anomaly(True, check_nan=False)
    Twice().__enter__()


def _equal(torch: Any, a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return all(_equal(torch, x, y) for x, y in zip(a, b))
    if not isinstance(a, torch.Tensor) or a.is_sparse or not a.is_floating_point():
        return True
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


_FOLDER = os.path.dirname(os.path.abspath(sys.argv[0] or "."))


def _place(torch: Any) -> str:
    node = torch._C._current_autograd_node()
    if node is not None:
        for line in reversed("".join(node.metadata.get("traceback_", [])).split("\n")):
            match = re.match(r'\s*File "(.+)", line (\d+), in ', line)
            if match and is_own(match[1]):
                return f"{shown(match[1], sites.settings.options['folder'])}:{match[2]}:0"
    frame = sys._getframe(2)
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            name = shown(frame.f_code.co_filename, sites.settings.options["folder"])
            return f"{name}:{frame.f_lineno}:0"
        frame = frame.f_back  # type: ignore[assignment]
    return "?:0:0"
