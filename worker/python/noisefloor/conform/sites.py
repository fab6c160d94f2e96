"""What a rewritten script's calls and loops go through.

Each place where something comes in that is not the program's own (a clock, entropy, an order, a
count) is a site. In a baseline it gives the same in every run; a plan says which sites give
something else this time.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from typing import Any, Callable, Iterable, NamedTuple

Handler = Callable[["Site", Any, tuple[Any, ...], dict[str, Any]], Any]


class Site(NamedTuple):
    place: str  # "train.py:7:4"
    changed: str  # How it is to differ from the baseline; empty: it is not.


class Settings(NamedTuple):
    log: str  # Path; lines of JSON are appended, by every process.
    # Sites whose answer differs: "*" is all, else the place; to "shift", "scale", "other" ...
    changes: dict[str, str]
    options: dict[str, Any]


settings = Settings(os.devnull, {}, {})
handlers: dict[Any, tuple[str, Handler]] = {}  # By function: kind, what is done instead.
# Of handlers that are not for every call: whether one is.
applies: dict[Handler, Callable[[tuple[Any, ...], dict[str, Any]], bool]] = {}
methods: dict[str, Callable[[Any], tuple[str, Handler] | None]] = {}  # By name: of the method.
observers: list[Callable[[str, Any, Any], None]] = []  # Called with place, function and result.
watchers: list[Callable[[str], Callable[[], None] | None]] = []  # Around each call.
seeding: list[Callable[[Any], None]] = []  # Called with each function before it is called.
_seen: set[tuple[str, str]] = set()
_main = threading.main_thread()


def tell(event: str, **content: Any) -> None:
    """A line for the process that asked for this run."""
    line = json.dumps({"event": event, "process": os.getpid(), **content}) + "\n"
    log = os.open(settings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(log, line.encode())
    finally:
        os.close(log)


def reached(place: str, kind: str, what: str, **more: Any) -> Site:
    """The site, which is told of once."""
    if (place, kind) not in _seen:
        _seen.add((place, kind))
        tell("site", place=place, kind=kind, what=what, **more)
    changes = settings.changes
    return Site(place, changes.get(f"{kind}@{place}", changes.get(kind, "")))


def call(place: str, function: Any, /, *args: Any, **keywords: Any) -> Any:
    """__nf_call__"""
    for look in seeding:
        look(function)
    found = _handler_of(function)
    if found is not None and (found[1] not in applies or applies[found[1]](args, keywords)):
        kind, handler = found
        site = reached(place, kind, name_of(function))
        return handler(site, function, args, keywords)
    if function in _SETS and args:
        given = list(ordered(place, args[0]) if type(args[0]) in _SETS else args[0])
        made = function(given)
        _remember(made, given)
        return made
    if any(type(a) in _SETS for a in args) and _walks(function):
        args = tuple(ordered(place, a) if type(a) in _SETS else a for a in args)
    after = [then for watch in watchers if (then := watch(place)) is not None]
    result = function(*args, **keywords)
    for then in after:
        then()
    if threading.current_thread() is _main:
        for observe in observers:
            observe(place, function, result)
    return result


def _handler_of(function: Any) -> tuple[str, Handler] | None:
    try:
        found = handlers.get(function)
    except TypeError:  # It has no hash.
        return None
    if found is None:
        method = methods.get(getattr(function, "__name__", None))  # type: ignore[arg-type]
        if method is not None and hasattr(function, "__self__"):
            return method(function.__self__)
    return found


def name_of(function: Any) -> str:
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "")
    if module in ("builtins", "posix", "", "__main__"):
        module = "os" if module == "posix" else ""
    return f"{module}.{name}" if module else str(name) or repr(type(function))


# Sets: what they give has the order of hashes, or of addresses.

_SETS = (set, frozenset)
_WALKERS = (list, tuple, enumerate, iter, sum, map, filter, zip)
_WALKING_METHODS = {"join", "extend", "fromkeys", "extendleft", "writelines"}
_orders: dict[int, tuple[Any, list[Any]]] = {}


def _walks(function: Any) -> bool:
    """Whether it takes its arguments' elements in their order."""
    if isinstance(function, type):
        return function in _WALKERS
    own = type(function).__name__ == "builtin_function_or_method"
    return own and (function in _WALKERS or function.__name__ in _WALKING_METHODS)


def _remember(made: Any, given: Iterable[Any]) -> None:
    """The order in which a set was filled: in a baseline it is that of the set, too."""
    if len(_orders) < 1000 and made:
        key = id(made)
        _orders[key] = (weakref.ref(made, lambda _: _orders.pop(key, None)), list(given))


def iterated(place: str, values: Any) -> Any:
    """__nf_iter__"""
    if type(values) in _SETS:
        return ordered(place, values)
    if watchers and not isinstance(values, (list, tuple, range, dict)):
        from noisefloor.conform.generators import watched
        return watched(place, values)
    return values


def ordered(place: str, values: Any) -> Any:
    """A set's elements in an order that is the same in every run, or in the reverse of it."""
    if len(values) < 2 or not any(has_own_hash(value) for value in values):
        return values
    if not handlers:
        return values  # Nothing is held still.
    site = reached(place, "set", "the order of a set")
    kept = _orders.get(id(values))
    if kept is not None and set(map(id, kept[1])) >= set(map(id, values)):
        present = set(map(id, values))
        result = [v for v in dict((id(v), v) for v in kept[1]).values() if id(v) in present]
    else:
        result = sorted(values, key=_order_key)
    return result[::-1] if site.changed else result


def has_own_hash(value: Any) -> bool:
    """Whether another process may have another hash of it: not of numbers."""
    if value is None:
        return sys.version_info < (3, 12)  # Its address, before.
    if isinstance(value, (tuple, frozenset)):
        return any(has_own_hash(inner) for inner in value)
    return not isinstance(value, (int, float, complex))


def _order_key(value: Any) -> tuple[str, str, int]:
    plain = isinstance(value, (str, bytes, int, float, tuple, frozenset, type(None)))
    return (type(value).__name__, repr(value) if plain else "", 0 if plain else id(value))


def switch(place: str, owner: Any, name: str) -> None:
    """__nf_switch__"""
    module = getattr(owner, "__name__", type(owner).__name__)
    if "torch" in module or "cudnn" in module:
        tell("switch", place=place, name=f"{module}.{name}", value=repr(getattr(owner, name, None)))
