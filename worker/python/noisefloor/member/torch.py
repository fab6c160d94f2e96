"""For scripts of PyTorch: initial weights, loaders, generators and processes of a member."""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Iterator, Sequence

import torch
from torch import distributed
from torch.utils.data import DataLoader, Dataset, default_collate

from noisefloor.member import draws, generators
from noisefloor.member.errors import Refused
from noisefloor.member.run import Run
from noisefloor.member.sources import Source


def device(run: Run) -> torch.device:
    """What the member's hardware class asks for."""
    return torch.device("cuda" if run.hardware_class.startswith("nvidia-") else "cpu")


def join(run: Run) -> None:
    """Brings the member's processes together (nf.main(..., processes=2)): after it
    DistributedDataParallel(model) works. Each has its share of each batch of a Loader."""
    if run.ranks == 1:
        return
    on = device(run)
    if on.type == "cuda":
        torch.cuda.set_device(run.rank)
    distributed.init_process_group(
        "nccl" if on.type == "cuda" else "gloo", init_method=os.environ["NOISEFLOOR_MEETING"],
        rank=run.rank, world_size=run.ranks)

    def agree(word: bool) -> bool:
        shared = torch.tensor(int(word), device=on)
        distributed.broadcast(shared, 0)
        return bool(shared.item())

    def gather(mine: Any) -> list[Any]:
        every: list[Any] = [None] * run.ranks
        distributed.all_gather_object(every, mine)
        return every

    run.agree, run.gather = agree, gather


def generator(source: Source, *key: Any, device: str | torch.device = "cpu") -> torch.Generator:
    """A generator of its own for each key of numbers and texts."""
    made = torch.Generator(device)
    made.manual_seed(_signed(source.key(*key)))
    return made


def _signed(seed: int) -> int:
    return seed - (1 << 64) if seed >> 63 else seed


@torch.no_grad()
def initialise(run: Run, model: torch.nn.Module, init: str = "glorot_uniform") -> None:
    """Draws every parameter of two dimensions or more by its name, as our own trainer does, whatever
    the order in which they are made; others and buffers get what batch norm and biases begin with.
    init: as run.init.weight has it. Tells the run the initial parameters."""
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            parameter.fill_(1.0 if name.endswith("weight") else 0.0)
            continue
        parameter.copy_(torch.from_numpy(run.init.weight(name, parameter.shape, init)))
    for name, buffer in model.named_buffers():
        buffer.fill_(1 if name.endswith("running_var") else 0)
    run.initial(model)


def _float32(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float64).float())


class Loader:
    """A DataLoader whose order comes from data_order and whose examples draw from augment.
    `batch_size` is the member's: of several processes each gets its share, the same examples
    whichever there are.

    Each iteration is the next epoch, also behind one that was left early. What an example's
    transforms draw from random, numpy.random and torch depends on the epoch and the example alone:
    not on the order, the batch, or the number of workers; what collate_fn draws, on the epoch and
    the batch's first example. `state_dict` and `load_state_dict`: for checkpoints, also between two
    batches. Behind the last one the epoch is not over, since what the script does at its end is
    still to come: whoever goes on from there gets no batch of it.
    """

    def __init__(self, run: Run, dataset: Dataset[Any], batch_size: int, *, drop_last: bool = False,
                 window: int = 0, keep_order: bool = False, **options: Any) -> None:
        """window: of a windowed shuffle; 0: a full permutation. keep_order: no shuffle. options:
        those of DataLoader but for shuffle, sampler, batch_sampler and generator. Refused where a
        batch, the last one too, has fewer examples than there are processes."""
        for name in ("shuffle", "sampler", "batch_sampler", "generator"):
            if name in options:
                raise TypeError(f"{name}: the order of a member comes from run.data_order")
        examples = len(dataset)  # type: ignore[arg-type]
        last = 0 if drop_last else examples % batch_size
        for what, size in (("batch_size", batch_size), ("the last batch", last or batch_size)):
            if size < run.ranks:
                raise Refused(f"{what}: {size} examples for {run.ranks} processes; expected one for "
                              "each")
        self.epoch = 0
        self._done = 0  # Batches of this epoch that the script has got.
        self._first = 0  # Of the next iteration: an interrupted epoch goes on.
        self._run = run
        self._count = examples
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._window = window
        self._keep_order = keep_order
        user_init = options.pop("worker_init_fn", None)
        collate = options.pop("collate_fn", None) or default_collate
        self._loader = DataLoader(
            _Examples(dataset, run.augment), batch_sampler=_Batches(self),
            generator=generator(run.augment, "workers"),
            collate_fn=_Collate(collate, run.augment), worker_init_fn=_Begin(user_init), **options)

    def __len__(self) -> int:
        whole = self._count // self._batch_size
        return whole if self._drop_last or self._count % self._batch_size == 0 else whole + 1

    def __iter__(self) -> Iterator[Any]:
        self._done, self._first = self._first, 0
        try:
            for batch in self._loader:
                self._done += 1
                self._run.epoch = self.epoch + self._done / len(self)
                yield batch
        finally:
            self.epoch += 1
            self._done = 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "batches": self._done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.epoch, self._first = state["epoch"], state["batches"]
        self._done = self._first

    def batches(self) -> Iterator[list[tuple[int, int]]]:
        order: Sequence[int] = range(self._count)
        if not self._keep_order:
            order = self._run.data_order.order(self._count, self.epoch, self._window)
        for at in range(self._done, len(self)):
            chosen = order[at * self._batch_size:(at + 1) * self._batch_size]
            chosen = chosen[self._run.rank::self._run.ranks]
            yield [(self.epoch, example) for example in chosen]


class _Batches:
    """Looked at once for each epoch, as a batch_sampler is."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        return self._loader.batches()


class _Examples(Dataset[Any]):
    def __init__(self, inner: Dataset[Any], augment: Source) -> None:
        self._inner = inner
        self._augment = augment

    def __len__(self) -> int:
        return len(self._inner)  # type: ignore[arg-type]

    def __getitem__(self, place: tuple[int, int]) -> tuple[tuple[int, int], Any]:
        epoch, example = place
        with self._augment.at(epoch, example):
            return place, self._inner[example]


class _Collate:
    def __init__(self, inner: Callable[[list[Any]], Any], augment: Source) -> None:
        self._inner = inner
        self._augment = augment

    def __call__(self, examples: list[tuple[tuple[int, int], Any]]) -> Any:
        epoch, first = examples[0][0]
        with self._augment.at(epoch, "batch", first):
            return self._inner([example for _, example in examples])


class _Begin:
    """Of a worker process: what is drawn there outside of examples and batches is equal in all
    members."""

    def __init__(self, inner: Callable[[int], None] | None) -> None:
        self._inner = inner

    def __call__(self, worker: int) -> None:
        generators.seed_all(draws.derived(generators.GROUND, ("worker", worker)))
        if self._inner is not None:
            self._inner(worker)


class Dropout(torch.nn.Module):
    """Dropout whose masks are our own trainer's: of the run's step, the layer's name and the place
    in the batch, not of what was drawn before."""

    def __init__(self, run: Run, name: str, probability: float) -> None:
        super().__init__()
        self._run, self._name, self._probability = run, name, probability

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or self._probability == 0:
            return x
        name = f"{self._name}/{self._run.rank}" if self._run.rank else self._name
        drawn = self._run.dropout.words(name, x.numel(), first=self._run.steps * (1 << 38))
        import numpy as np
        kept = drawn >= np.uint32(math.floor(self._probability * 2.0**32))
        mask = torch.from_numpy(kept).to(x.device).reshape(x.shape)
        return x * mask * _float32(1.0 / (1.0 - self._probability))


def poke(run: Run, model: torch.nn.Module, step: int = 0, parameter: str = "",
         element: int = 0) -> None:
    """Before step `step`: one element of a parameter (by default the first weight by name) goes to
    the next float away from zero; which one, a free source draws. Call it before each step."""
    if run.poke.off or run.steps != step:
        return
    named = dict(model.named_parameters())
    name = parameter or min(n for n in named if n.endswith("weight"))
    weights = named[name]
    if run.poke.free:
        element = draws.below(draws.bits(run.poke.seed, 0, 0), weights.numel())
        run.poke.asked += 1
    import numpy as np
    # Row-major, wherever it lies: weights may be channels_last.
    place = tuple(int(at) for at in np.unravel_index(element, tuple(weights.shape)))
    with torch.no_grad():
        value = weights[place]
        away = torch.full_like(value, -math.inf if value < 0 else math.inf)
        weights[place] = torch.nextafter(value, away)


def states(**parts: Any) -> Callable[[], dict[str, Any]]:
    """For run.checkpoint: nf.torch.states(model=model, optimizer=optimizer, loader=loader)."""
    return lambda: {name: part.state_dict() for name, part in parts.items()}


def load(state: dict[str, Any] | None, **parts: Any) -> bool:
    """The other way, of what run.restore() gave; False: there is nothing to go on with."""
    if state is None:
        return False
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return True
