"""Generators that a process has from the start: which state they begin with, and who draws from them."""

from __future__ import annotations

import random
import sys
from typing import Any, Callable

from noisefloor.conform import sites

_BASE = 20_011  # Of baselines; any number.


def begin(name: str) -> None:
    """Seeds one as nobody would: what a script draws without seeding it comes from here."""
    seed = _BASE + (1 if name in sites.settings.options.get("begin", ()) else 0)
    if name == "random":
        random.seed(seed)
    elif name == "numpy":
        sys.modules["numpy"].random.seed(seed)
    elif name == "torch":
        sys.modules["torch"].manual_seed(seed)
    elif name == "tensorflow":
        sys.modules["tensorflow"].random.set_seed(seed)


def _mark(name: str) -> Any:
    """What changes with each draw, cheaply."""
    if name == "random":
        state = random.getstate()
        return state[1][-1], state[1][0], state[2]
    if name == "numpy" and "numpy" in sys.modules:
        state = sys.modules["numpy"].random.get_state()
        return state[2], state[1][0], state[3]
    if name == "torch" and "torch" in sys.modules:
        return sys.modules["torch"].get_rng_state().numpy().tobytes()
    return None


_SEEDERS = {"random": ("seed",), "numpy": ("seed",), "torch": ("manual_seed", "seed")}


class Draws:
    """Tells the innermost places that draw from a generator before it is seeded."""

    MOST_CALLS = 50  # Of one place, before it is taken for one that does not draw.

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: dict[str, int] = {}
        self._draws: set[str] = set()
        self._changes = 0
        self._seeded = False

    def watch(self, place: str) -> Callable[[], None] | None:
        members = sys.modules.get("noisefloor.member.sources")
        if self._seeded or (members is not None and members.owners):
            return None
        if place not in self._draws:
            count = self._calls[place] = self._calls.get(place, 0) + 1
            if count > self.MOST_CALLS:
                return None
        before, changes = _mark(self._name), self._changes

        def then() -> None:
            if self._changes != changes or _mark(self._name) == before or self._seeded:
                return
            self._changes += 1
            if place not in self._draws:
                self._draws.add(place)
                sites.tell("draw", place=place, generator=self._name)
        return then

    def seeded(self, function: Any) -> None:
        """Another of the person's calls is about to be made: perhaps one that seeds."""
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None) or type(
            getattr(function, "__self__", None)).__module__
        of = {"random": "random", "numpy": "numpy", "torch": "torch"}[self._name]
        if name in _SEEDERS[self._name] and str(module).startswith(of):
            self._seeded = True


def watched(place: str, values: Any) -> Any:
    """A loop's values, each of which may be made by drawing."""
    def run(step: Callable[[], Any]) -> Any:
        after = [then for watch in sites.watchers if (then := watch(place)) is not None]
        try:
            return step()
        finally:
            for then in after:
                then()
    iterator = run(lambda: iter(values))
    while True:
        try:
            value = run(lambda: next(iterator))
        except StopIteration:
            return
        yield value
