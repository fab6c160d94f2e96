"""For scripts of Keras 3, on whatever it computes with: initial weights, loaders and callbacks."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import keras
import numpy as np

from noisefloor.member import sources
from noisefloor.member.run import Run


def seed(source: sources.Source, *key: Any) -> int:
    """For layers, initialisers and generators that take a seed:
    keras.layers.Dropout(0.5, seed=nf.keras.seed(run.dropout, "drop1"))."""
    return source.key(*key) & 0x7FFFFFFF


def initialise(run: Run, model: keras.Model, init: str = "glorot_uniform") -> None:
    """Draws every kernel of a Dense, Conv1D, Conv2D or Conv3D layer as our own trainer does, by the
    layer's name and ".weight"; what else a layer has stays what it begins with. init: as
    run.init.weight has it. Tells the run the initial parameters."""
    for layer in model.layers:
        kernel = getattr(layer, "kernel", None)
        if kernel is None or len(kernel.shape) < 2:
            continue
        *taps, channels_in, channels_out = (int(size) for size in kernel.shape)
        shape = (channels_out, channels_in, *taps)  # As ours; Keras has channels last.
        drawn = run.init.weight(f"{layer.name}.weight", shape, init)
        kernel.assign(drawn.transpose(*range(2, drawn.ndim), 1, 0))
    run.initial({v.path: v for v in model.trainable_variables})


class Loader(keras.utils.PyDataset):
    """Batches for model.fit, whose order comes from data_order and whose examples draw from augment:
    model.fit(nf.keras.Loader(run, x, y, 64), epochs=3, shuffle=False, callbacks=[...]).

    transform: of one input; what it draws from random and numpy.random depends on epoch and example
    alone, not on the number of workers.
    """

    def __init__(self, run: Run, inputs: Any, labels: Any, batch_size: int, *,
                 drop_last: bool = False, window: int = 0,
                 transform: Callable[[Any], Any] | None = None, **options: Any) -> None:
        """window: of a windowed shuffle; 0: a full permutation. options: those of PyDataset."""
        super().__init__(**options)
        backend = keras.backend.backend()
        forks = self.workers > 0 and self.use_multiprocessing
        if forks and backend == "jax":
            raise ValueError("JAX does not survive the fork of its process: "
                             "use_multiprocessing=False")
        # It looks at a batch before it trains; what is queued by then is of the first epoch.
        if (forks or self.workers > 1) and backend != "tensorflow":
            raise ValueError(f"on {backend} Keras carries what workers have queued into other "
                             "epochs: workers=1")
        if self.workers > 1 and transform is not None and not self.use_multiprocessing:
            raise ValueError("threads share their generators: use_multiprocessing=True, or workers=1")
        self.epoch = 0
        self._run = run
        self._inputs = inputs
        self._labels = labels
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._window = window
        self._transform = transform
        self._orders: dict[int, Sequence[int]] = {}  # Of the epoch under way.
        self._next = 0

    def __len__(self) -> int:
        whole, rest = divmod(len(self._labels), self._batch_size)
        return whole if self._drop_last or rest == 0 else whole + 1

    def __getitem__(self, index: int) -> Any:
        if index not in (0, self._next) and self.workers <= 1:
            raise ValueError("model.fit shuffles what data_order has ordered: shuffle=False")
        self._next = index + 1
        return self.batch(index)

    def batch(self, index: int) -> Any:
        """The inputs and labels of a batch of the epoch under way."""
        if self.epoch not in self._orders:
            order = self._run.data_order.order(len(self._labels), self.epoch, self._window)
            self._orders = {self.epoch: order}
        begin = index * self._batch_size
        chosen = list(self._orders[self.epoch][begin:begin + self._batch_size])
        inputs = self._inputs[chosen]
        if self._transform is not None:
            inputs = np.stack([self._transformed(example, x)
                               for example, x in zip(chosen, inputs)])
        return inputs, self._labels[chosen]

    def _transformed(self, example: int, x: Any) -> Any:
        assert self._transform is not None
        with self._run.augment.at(self.epoch, example):
            return self._transform(x)

    def on_epoch_end(self) -> None:
        self.epoch += 1


class Callback(keras.callbacks.Callback):
    """Tells the run of steps, epochs and losses while model.fit runs, and keeps checkpoints at the
    ends of epochs. Between model.compile and model.fit:

    callback = nf.keras.Callback(run, loader)
    model.fit(loader, epochs=3, initial_epoch=callback.restore(model), callbacks=[callback])
    """

    def __init__(self, run: Run, loader: Loader) -> None:
        super().__init__()
        self._run = run
        self._loader = loader
        self._first = 0
        self._epoch = 0

    def restore(self, model: keras.Model) -> int:
        """The epoch to begin with: 0 where there is no checkpoint."""
        model.optimizer.build(model.trainable_variables)
        kept = self._run.restore()
        if kept is None:
            return 0
        for variable, value in zip(_variables(model), kept["variables"], strict=True):
            variable.assign(value)
        self._first = self._loader.epoch = int(kept["epoch"])
        return self._first

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        # Keras has told the loader that an epoch is over.
        self._loader.epoch = self._first
        self._run.progress(self.params["epochs"] * len(self._loader))
        if self._run.steps == 0:
            for index in range(min(4, len(self._loader))):
                self._run.batch(*self._loader.batch(index))

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch = self._loader.epoch = epoch  # Validation may have walked the loader.

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._run.epoch = self._epoch + (batch + 1) / len(self._loader)
        self._run.step()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._run.epoch = epoch + 1.0
        if logs and "loss" in logs:
            self._run.record(train_loss_epoch=float(logs["loss"]))
        self._run.checkpoint(lambda: {
            "epoch": epoch + 1,
            "variables": [keras.ops.convert_to_numpy(v) for v in _variables(self.model)]})


def _variables(model: keras.Model) -> list[Any]:
    return [*model.variables, *model.optimizer.variables]
