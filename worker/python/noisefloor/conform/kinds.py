"""What may come into a program that is not its own, and what it gets in place of it.

Each handler gives the same in every baseline, and something else where its site is changed. Only
calls of the person's own code come here; libraries have what they always have.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import datetime
import getpass
import glob
import hashlib
import multiprocessing
import multiprocessing.pool
import os
import platform
import random
import secrets
import socket
import threading
import time
import uuid
from typing import Any

from noisefloor.conform.sites import (
    Handler, Site, applies, handlers, has_own_hash, methods, ordered, tell)

_BEGIN = 1_700_000_000.0  # Of the clock, in seconds of the epoch.
_TICK = 0.001  # What each reading takes.
_counts: dict[str, int] = {}


def _number(site: Site, kind: str) -> int:
    """64 bits for the n-th time that a site is reached, others where it is changed."""
    count = _counts[site.place] = _counts.get(site.place, 0) + 1
    text = f"{kind}/{site.place}/{count}/{site.changed}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


# The clock.

_readings = 0
_slept = 0.0


def _now(site: Site) -> float:
    global _readings
    _readings += 1
    passed = _readings * _TICK + _slept
    if site.changed == "scale":
        return _BEGIN + 37.0 * passed
    return _BEGIN + passed + (86413.7 if site.changed else 0.0)


def _clock(begin: float = 0.0, scale: float = 1.0) -> Handler:
    def handler(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        value = (_now(site) - begin) * scale
        return int(value) if scale != 1.0 else value
    return handler


def _sleep(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    global _slept
    _slept += float(args[0]) if args else 0.0
    return function(*args, **keywords)


def _moment(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    zone = args[0] if args else keywords.get("tz", None)
    if getattr(function, "__name__", "") == "today" and function.__self__ is datetime.date:
        return datetime.date.fromtimestamp(_now(site))
    return datetime.datetime.fromtimestamp(_now(site), zone)


# Entropy.

def _bytes(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    count = int(args[0]) if args and args[0] is not None else 32
    return random.Random(_number(site, "bytes")).randbytes(count)


def _token(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return str(_bytes(site, function, args, keywords).hex())


def _bits(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return random.Random(_number(site, "bits")).getrandbits(int(args[0]))


def _below(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return random.Random(_number(site, "below")).randrange(int(args[0]))


def _one_of(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return random.Random(_number(site, "one of")).choice(args[0])


def _uuid(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return uuid.UUID(int=random.Random(_number(site, "uuid")).getrandbits(128), version=4)


def _seeded(bits: int) -> Handler:
    """Of what takes entropy where no seed is given: it gets one."""
    def handler(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return function(_number(site, "seed") % (1 << bits), *args[1:])
    applies[handler] = lambda args, keywords: (
        args[0] if args else next(iter(keywords.values()), None)) is None
    return handler


def _system_random(site: Site, function: Any, args: tuple[Any, ...],
                   keywords: dict[str, Any]) -> Any:
    return random.Random(_number(site, "system"))


# What a process and a machine are.

def _identity(count: int) -> Handler:
    def handler(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return count + (7919 if site.changed else 0)
    return handler


def _name(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return "another-machine" if site.changed else function(*args, **keywords)


def _count(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    value = function(*args, **keywords)
    if not site.changed or value is None:
        return value
    if isinstance(value, (set, frozenset)):
        return set(range(3)) if len(value) != 3 else {0}
    return 1 if value > 1 else 2


def _hash(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    value = function(*args, **keywords)
    return value ^ 0x5DEECE66D if site.changed else value


applies[_hash] = lambda args, keywords: bool(args) and has_own_hash(args[0])


_ids: dict[int, int] = {}


def _id(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """As a number in the order of asking, which is as good an address as any."""
    number = _ids.setdefault(function(args[0]), 16 * len(_ids) + 1024)
    return (1 << 40) - number if site.changed else number


# Orders.

def _listing(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    found = function(*args, **keywords)
    made = sorted(found, key=lambda entry: getattr(entry, "name", None) or str(entry))
    made = made[::-1] if site.changed else made
    return made if isinstance(found, list) else iter(made)


class _Entries(list):  # type: ignore[type-arg]
    """What os.scandir gives: to be closed, and used by `with`."""

    def close(self) -> None: ...
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None: ...


def _scandir(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    with function(*args, **keywords) as found:
        made = sorted(found, key=lambda entry: str(entry.name))
    return _Entries(made[::-1] if site.changed else made)


def _walk(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    for folder, folders, files in function(*args, **keywords):
        folders.sort(reverse=bool(site.changed))
        yield folder, folders, sorted(files, reverse=bool(site.changed))


def _as_completed(site: Site, function: Any, args: tuple[Any, ...],
                  keywords: dict[str, Any]) -> Any:
    """In the order in which they were given, once all are done."""
    given = list(args[0] if args else keywords["fs"])
    concurrent.futures.wait(given)
    return iter(given[::-1] if site.changed else given)


def _unordered(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    given = list(function.__self__.imap(*args, **keywords))
    return iter(given[::-1] if site.changed else given)


# Memory that nobody has written.

def _raw(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    made = function(*args, **keywords)
    value = 3 if site.changed else 0
    if hasattr(made, "fill_") and not getattr(made, "is_meta", False):
        import torch
        with torch.no_grad():
            made.fill_(value)
    elif hasattr(made, "fill"):
        made.fill(value)
    return made


def _popped(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    owner = function.__self__
    if len(owner) < 2:
        return function()
    chosen = list(ordered(site.place, owner))[0]
    owner.remove(chosen)
    return chosen


def _add(kind: str, handler: Handler, *functions: Any) -> None:
    for function in functions:
        handlers[function] = (kind, handler)


def _method(name: str, kind: str, handler: Handler, owner: str) -> None:
    """`owner`: part of the name of the type whose method it is."""
    before = methods.get(name)

    def find(self: Any) -> tuple[str, Handler] | None:
        of = type(self) if not isinstance(self, type) else self
        if any(owner in f"{base.__module__}.{base.__qualname__}" for base in of.__mro__):
            return kind, handler
        return before(self) if before is not None else None
    methods[name] = find


def install() -> None:
    """What the standard library has."""
    _add("clock", _clock(), time.time)
    _add("clock", _clock(_BEGIN), time.monotonic, time.perf_counter, time.process_time,
         time.thread_time)
    _add("clock", _clock(0.0, 1e9), time.time_ns)
    _add("clock", _clock(_BEGIN, 1e9), time.monotonic_ns, time.perf_counter_ns, time.process_time_ns)
    _add("clock", _moment, datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today,
         datetime.date.today)
    handlers[time.sleep] = ("sleep", _sleep)
    _add("entropy", _bytes, os.urandom, secrets.token_bytes)
    _add("entropy", _token, secrets.token_hex, secrets.token_urlsafe)
    _add("entropy", _bits, secrets.randbits)
    _add("entropy", _below, secrets.randbelow)
    _add("entropy", _one_of, secrets.choice)
    _add("entropy", _uuid, uuid.uuid4, uuid.uuid1)
    _add("entropy", _system_random, random.SystemRandom, secrets.SystemRandom)
    _add("entropy", _seeded(64), random.Random, random.seed)
    _add("process", _identity(4321), os.getpid, os.getppid, threading.get_ident,
         threading.get_native_id)
    _add("machine", _name, socket.gethostname, platform.node, getpass.getuser)
    _add("machine", _identity(0x123456789A), uuid.getnode)
    _add("cores", _count, os.cpu_count, multiprocessing.cpu_count)
    if hasattr(os, "sched_getaffinity"):
        _add("cores", _count, os.sched_getaffinity)
    _add("hash", _hash, builtins.hash)
    _add("address", _id, builtins.id)
    _add("listing", _listing, os.listdir, glob.glob, glob.iglob)
    _add("listing", _scandir, os.scandir)
    _add("listing", _walk, os.walk)
    for name in ("iterdir", "glob", "rglob"):
        _method(name, "listing", _listing, "pathlib")
    _add("completion", _as_completed, concurrent.futures.as_completed)
    _method("imap_unordered", "completion", _unordered, "multiprocessing.pool")
    _method("pop", "set", _popped, "builtins.set")
    _method("seed", "entropy", _seeded(64), "random.Random")


def install_numpy(np: Any) -> None:
    _add("entropy", _seeded(64), np.random.default_rng, np.random.SeedSequence, np.random.PCG64,
         np.random.Philox, np.random.MT19937, np.random.SFC64)
    _add("entropy", _seeded(32), np.random.RandomState, np.random.seed)
    _method("seed", "entropy", _seeded(32), "RandomState")
    _add("memory", _raw, np.empty, np.empty_like)


def install_torch(torch: Any) -> None:
    _add("memory", _raw, torch.empty, torch.empty_like)
    _method("new_empty", "memory", _raw, "torch.")

    def new_seed(site: Site, function: Any, args: tuple[Any, ...],
                 keywords: dict[str, Any]) -> Any:
        seed = _number(site, "seed") >> 1
        owner = getattr(function, "__self__", None)
        (owner if isinstance(owner, torch.Generator) else torch).manual_seed(seed)
        return seed
    _add("entropy", new_seed, torch.seed, torch.random.seed)
    _method("seed", "entropy", new_seed, "torch._C.Generator")
    _add("cores", _count, torch.get_num_threads)

    def loader(site: Site, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if keywords.get("in_order", True) is False:
            tell("switch", place=site.place, name="DataLoader.in_order", value="False")
            keywords = {**keywords, "in_order": True}
        return function(*args, **keywords)
    _add("loader", loader, torch.utils.data.DataLoader)
