"""One noise source of a member: its lane's seed, and every generator that may be made of it."""

from __future__ import annotations

import random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Sequence

from noisefloor.member import draws, generators

if TYPE_CHECKING:
    import numpy as np


class Source:
    """Members with the same lane have the same seed, and get the same draws.

    Draws of the methods are functions of seed and arguments: nothing is used up, whoever asks how
    often, on whatever machine. `with run.init:` is for code that draws from the generators that a
    process has (random, numpy.random, torch): in its body they belong to this source, and behind it
    they are as they were.
    """

    def __init__(self, name: str, specification: dict[str, Any], rank: int = 0) -> None:
        """`rank`: of the process, where the bodies of each process draw for themselves."""
        self.name = name
        self._body_key = ("body", "rank", rank) if rank else ("body",)
        self.state: str = specification["state"]  # "fixed", "free", "off"
        self.block: int = specification["block"]
        self.lane: int = specification["lane"]
        self.seed = int(specification["seed"])
        self._bodies: list[_Body] = []  # That the process is in, the innermost last.
        self.entered = 0  # How often the process's generators were given to it.
        self.asked = 0  # How often something was drawn from it, as far as can be counted.

    @property
    def free(self) -> bool:
        return self.state == "free"

    @property
    def off(self) -> bool:
        return self.state == "off"

    def key(self, *key: Any) -> int:
        """A 64-bit seed of its own for each key of numbers and texts."""
        self.asked += 1
        return draws.derived(self.seed, key)

    def random(self, *key: Any) -> random.Random:
        return random.Random(self.key(*key))

    def numpy(self, *key: Any) -> np.random.Generator:
        import numpy as np
        return np.random.Generator(np.random.Philox(key=self.key(*key)))

    def order(self, count: int, epoch: int = 0, window: int = 0) -> list[int]:
        """A permutation of 0 ... count - 1, another for each epoch; see draws.order."""
        self.asked += 1
        return draws.order(self.seed, count, epoch, window)

    def uniform(self, name: str, shape: Sequence[int], limit: float) -> np.ndarray:
        """float32 in [-limit, limit), for a parameter of that name."""
        self.asked += 1
        return draws.uniform(self.seed, name, shape, limit)

    def normal(self, name: str, shape: Sequence[int], deviation: float) -> np.ndarray:
        self.asked += 1
        return draws.normal(self.seed, name, shape, deviation)

    def weight(self, name: str, shape: Sequence[int], init: str) -> np.ndarray:
        """float32: how our own trainer begins the weight {out, in, ...} of a convolution or a dense
        layer. init: "glorot_uniform", "he_normal", or "dirac", of which the first filters of a
        convolution of images pass its first channels on."""
        self.asked += 1
        return draws.weight(self.seed, name, shape, init)

    def words(self, stream: int | str, count: int, first: int = 0) -> np.ndarray:
        """uint32 {count}: raw words of a stream, from word `first` on."""
        self.asked += 1
        number = draws.stream_of(stream) if isinstance(stream, str) else stream
        return draws.words(self.seed, number, count, first)

    def at(self, *key: Any) -> _Body:
        """`with run.augment.at(epoch, example):`, whose draws depend on the key alone and not on
        how many bodies came before."""
        return _Body(self, key)

    def __enter__(self) -> Source:
        self._bodies.append(_Body(self, (*self._body_key, self.entered)))
        self.entered += 1
        self._bodies[-1].__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._bodies.pop().__exit__(kind, error, trace)


class _Body:
    def __init__(self, source: Source, key: Sequence[Any]) -> None:
        self._source = source
        self._key = key

    def __enter__(self) -> None:
        owners.append(self._source.name)
        self._before = generators.states()
        generators.seed_all(self._source.key(*self._key))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        generators.restore(self._before)
        owners.pop()


# The sources whose bodies this process is in, the innermost last: what conform asks.
owners: list[str] = []

