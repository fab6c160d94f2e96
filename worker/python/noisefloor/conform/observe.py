"""Runs a script as `python` would, with all that comes into it made visible: the child of a check.

    NOISEFLOOR_CONFORM=SETTINGS.json python -m noisefloor.conform.observe train.py ARGUMENTS
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from typing import Any, Callable, Sequence

from noisefloor.conform import checkpoints, generators, kinds, outcome, rewrite, sites, twice


class _After(importlib.abc.MetaPathFinder):
    """Calls functions once modules are imported."""

    def __init__(self, hooks: dict[str, Callable[[Any], None]]) -> None:
        self._hooks = hooks

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._hooks:
            return None
        hook = self._hooks.pop(fullname)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        inner = spec.loader.exec_module

        def executed(module: Any) -> None:
            inner(module)
            hook(module)
        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _numpy(module: Any) -> None:
    kinds.install_numpy(module)
    checkpoints.install_numpy(module)
    generators.begin("numpy")


def _torch(module: Any) -> None:
    kinds.install_torch(module)
    checkpoints.install_torch(module)
    generators.begin("torch")
    if sites.settings.options.get("twice"):
        twice.install(module)
    threads = sites.settings.options.get("threads")
    if threads:
        module.set_num_threads(threads)


def _keras(module: Any) -> None:
    checkpoints.install_keras(module)


def _tensorflow(module: Any) -> None:
    generators.begin("tensorflow")


def _ground(module: Any) -> None:
    """Of the shim: what generators are seeded with outside of every source."""
    if "ground" in sites.settings.options.get("begin", ()):
        module.GROUND += 1


_HOOKS = {"numpy": _numpy, "torch": _torch, "keras": _keras, "tensorflow": _tensorflow,
          "noisefloor.member.generators": _ground}


def _finish() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.backends.cudnn.benchmark:
        sites.tell("switch_at_end", name="torch.backends.cudnn.benchmark")
    sites.tell("outcome", **outcome.outcome())


def main() -> None:
    with open(os.environ["NOISEFLOOR_CONFORM"], encoding="utf-8") as file:
        given = json.load(file)
    sites.settings = sites.Settings(given["log"], given["changes"], given["options"])
    words = sys.argv[1:]
    name, path = "__main__", os.path.abspath(words[0])
    if words[0] == "-m":
        sys.path.insert(0, os.getcwd())
        words = words[1:]
        found = rewrite.imports_of(words[0])
        if found is None:
            sys.exit(f"no module named {words[0]}")
        path = found
    else:
        sys.path[0] = os.path.dirname(path)
    folder = given["options"]["folder"]
    rewrite.install(folder)
    for short, function in (("call", sites.call), ("iter", sites.iterated),
                            ("switch", sites.switch)):
        setattr(builtins, f"__nf_{short}__", function)
    sites.observers.append(outcome.observe)
    if given["natural"]:
        _run(name, path, words, folder)
        return
    sys.meta_path.insert(0, _After(dict(_HOOKS)))
    kinds.install()
    checkpoints.install()
    generators.begin("random")
    attributed = given["options"].get("draws")
    if attributed:
        watch = generators.Draws(attributed)
        sites.watchers.append(watch.watch)
        sites.seeding.append(watch.seeded)
    _run(name, path, words, folder)


def _run(name: str, path: str, words: list[str], folder: str) -> None:
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    sys.argv = [words[0], *words[1:]]
    with open(path, "rb") as file:
        code = rewrite.compiled(file.read(), path, rewrite.shown(path, folder))
    try:
        exec(code, module.__dict__)
    except SystemExit as left:
        if left.code not in (None, 0):
            raise
    _finish()


if __name__ == "__main__":
    # Not as __main__: that is the script's.
    from noisefloor.conform import observe
    observe.main()
