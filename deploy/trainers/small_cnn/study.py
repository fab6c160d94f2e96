"""What the SmallCNN of every framework shares: noisefloor's own settings, data, order and measures.

A framework gives a `Net`; everything that draws is here, so that members of one lane begin with the
same weights and see the same batches, whatever trains them.
"""

from __future__ import annotations

from typing import Any, Callable, Protocol

import noisefloor.member as nf
import numpy as np


class Net(Protocol):
    def initial(self) -> dict[str, np.ndarray]: ...
    def step(self, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
        """One step of SGD; the mean loss of the batch before it."""
    def answers(self, images: np.ndarray) -> np.ndarray: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any]) -> None: ...
    def weights(self) -> dict[str, np.ndarray]: ...


# By path: the only values that these scripts know of our trainer's settings.
ONLY = {"model.name": "small_cnn", "train.precision": "fp32", "train.shards": 1, "train.devices": 1,
        "train.optimizer.name": "sgd", "train.optimizer.formula": "torch",
        "train.optimizer.decayed": "all", "train.optimizer.bias_rate": 1, "train.clip_norm": 0,
        "train.average_decay": 0}


def main(make: Callable[[nf.Run, int, int], Net], stack: str) -> None:
    """make(run, channels, classes)"""
    def train(run: nf.Run) -> None:
        for path, value in ONLY.items():
            if run[path] != value:
                raise nf.Refused(f"{path}: {stack} has only {value}")
        if {run.poke.state, run.dial.state, run.load.state} != {"off"} \
                or run["sources.threads.choices"]:
            raise nf.Refused(f"{stack} has no poke, no dial, no load and no choice of threads")
        _train(run, make)
    nf.main(train, nf.images.settings(), stack=stack)


def _train(run: nf.Run, make: Callable[[nf.Run, int, int], Net]) -> None:
    data = nf.data.load(run, train_examples=run["data.train_examples"],
                        test_examples=run["data.test_examples"])
    net = make(run, data.train.images.shape[1], data.classes)
    run.initial(net.initial())
    test = nf.images.evaluation(run, data.test)
    per_epoch, epochs = nf.images.batches_of_epoch(run, data.train), run["train.epochs"]
    epoch, done, losses = _resumed(run, net)
    run.progress(epochs * per_epoch)
    for epoch in run.epochs(epochs, start=epoch):
        for batch in nf.images.batches(run, data.train, epoch, start=done):
            run.batch(batch.images, batch.labels)
            rate = nf.images.learning_rate(run, run.steps, per_epoch)
            losses.append(net.step(batch.images, batch.labels, rate))
            done += 1
            run.epoch = epoch + done / per_epoch
            run.step()
            run.checkpoint(lambda: {"net": net.state(), "epoch": epoch, "done": done,
                                    "losses": losses})
        run.record(train_loss_epoch=float(np.mean(losses)))
        done, losses = 0, []
        last, every = epoch + 1 == epochs, run["evaluate.every_epochs"]
        if last or (every and (epoch + 1) % every == 0):
            _evaluate(run, net, test)
    if epochs == 0:
        _evaluate(run, net, test)
    run.evaluation_set(data.test.labels, data.test.images.transpose(0, 2, 3, 1))
    run.finish(net.weights())


def _resumed(run: nf.Run, net: Net) -> tuple[int, int, list[float]]:
    kept = run.restore()
    if kept is None:
        return 0, 0, []
    net.load(kept["net"])
    return kept["epoch"], kept["done"], kept["losses"]


def _evaluate(run: nf.Run, net: Net, test: nf.images.Batch) -> None:
    size = run["evaluate.batch_size"]
    answers = [net.answers(test.images[i:i + size]) for i in range(0, len(test.labels), size)]
    run.evaluation(np.concatenate(answers), test.labels, net.weights(),
                   keep=run["evaluate.predictions"] == "all",
                   keep_weights=run["evaluate.weights"] == "all")
