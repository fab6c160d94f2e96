"""Where a script keeps its state, and where it takes it up again."""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import Any

from noisefloor.conform import sites
from noisefloor.conform.sites import Handler, Site

_saves = 0


def _path(args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    for value in [*args, *keywords.values()]:
        name = value if isinstance(value, (str, os.PathLike)) else getattr(value, "name", None)
        if isinstance(name, (str, os.PathLike)) and str(name):
            return os.path.abspath(os.fspath(name))
    return ""


def _save(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    global _saves
    result = function(*args, **keywords)
    _saves += 1
    sites.tell("save", place=site.place, path=_path(args, keywords))
    if _saves == sites.settings.options.get("stop_after_save"):
        for value in [*args, *keywords.values()]:
            if hasattr(value, "flush"):
                value.flush()
        with open(sites.settings.options["states"], "wb") as file:
            pickle.dump(_states(), file)
        sites.tell("stopped", place=site.place)
        os._exit(75)
    return result


def _load(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    result = function(*args, **keywords)
    sites.tell("load", place=site.place, path=_path(args, keywords))
    states = sites.settings.options.get("restore_at_load")
    if states:
        with open(states, "rb") as file:
            _restore(pickle.load(file))
    return result


def _states() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate()}
    if "numpy" in sys.modules:
        states["numpy"] = sys.modules["numpy"].random.get_state()
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state()
    return states


def _restore(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    if "numpy" in states:
        sys.modules["numpy"].random.set_state(states["numpy"])
    if "torch" in states:
        sys.modules["torch"].set_rng_state(states["torch"])


def _add(kind: str, handler: Handler, *functions: Any) -> None:
    for function in functions:
        sites.handlers[function] = (kind, handler)


def install() -> None:
    _add("save", _save, pickle.dump)
    _add("load", _load, pickle.load)


def install_numpy(np: Any) -> None:
    _add("save", _save, np.save, np.savez, np.savez_compressed)
    _add("load", _load, np.load)


def install_torch(torch: Any) -> None:
    _add("save", _save, torch.save)
    _add("load", _load, torch.load)


def install_keras(keras: Any) -> None:
    def of_model(kind: str, handler: Handler) -> Any:
        return lambda owner: (kind, handler) if isinstance(owner, keras.Model) else None
    for name, kind, handler in (("save", "save", _save), ("save_weights", "save", _save),
                                ("load_weights", "load", _load)):
        sites.methods[name] = of_model(kind, handler)
    _add("load", _load, keras.models.load_model)
