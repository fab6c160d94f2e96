"""Softmax regression on clouds of points, with the standard library alone. Misbehaves as asked."""

import math
import os
import random
import signal
import sys

import noisefloor.member as nf

SETTINGS = [
    nf.integer("clouds.points", 60, 1, 1000),
    nf.number("learn.rate", 0.1, 0, 10, "of each step"),
    nf.integer("learn.epochs", 3, 0, 100),
    nf.choice("learn.mischief", "none", ["none", "raise", "exit", "no_finish", "bad_data", "nan",
                                         "diverge", "no_memory"]),
]


def points(count: int, seed: int) -> tuple[list[list[float]], list[int]]:
    draw = random.Random(seed)
    labels = [i % 3 for i in range(count)]
    return [[draw.gauss(math.cos(k * 2), 0.8), draw.gauss(math.sin(k * 2), 0.8), 1.0]
            for k in labels], labels


def scores(weights: list[list[float]], x: list[float]) -> list[float]:
    return [sum(w * v for w, v in zip(row, x)) for row in weights]


def train(run: nf.Run) -> None:
    x, y = points(run["clouds.points"], 1)
    test_x, test_y = points(100, 2)
    run.data(nf.data.identity_of(x, y, test_x, test_y))
    with run.init:
        weights = [[random.gauss(0, 1) for _ in range(3)] for _ in range(3)]
    run.initial({"weights": weights})
    kept = run.restore()
    begin, start = (0, 0) if kept is None else (kept["epoch"], kept["place"])
    weights = weights if kept is None else kept["weights"]
    tell_progress(run, run["learn.epochs"] * len(x))
    for epoch in run.epochs(run["learn.epochs"], start=begin):
        for place, i in enumerate(run.data_order.order(len(x), epoch)):
            if epoch == begin and place < start:
                continue
            with run.augment.at(epoch, i):
                moved = [x[i][0] + random.gauss(0, 0.1), x[i][1] + random.gauss(0, 0.1), 1.0]
            run.batch([moved], [y[i]])
            with run.dropout:
                moved = [v * 2 * (random.random() < 0.5) for v in moved]
            most = max(scores(weights, moved))
            powers = [math.exp(s - most) for s in scores(weights, moved)]
            for k in range(3):
                error = powers[k] / sum(powers) - (k == y[i])
                weights[k] = [w - run["learn.rate"] * error * v for w, v in zip(weights[k], moved)]
            run.step()
            misbehave(run)
            run.checkpoint({"epoch": epoch, "place": place + 1, "weights": weights})
        run.record(train_loss_epoch=float(epoch))
    if run["learn.mischief"] == "nan":
        weights[0][0] = math.nan
    run.evaluation([scores(weights, p) for p in test_x], test_y, {"weights": weights})
    run.evaluation_set(test_y)
    if run["learn.mischief"] != "no_finish":
        run.finish({"weights": weights})


def tell_progress(run: nf.Run, steps: int) -> None:
    """With CLOUDS_WAIT it goes on when it is asked to stop: not done before the signal comes."""
    stops = {signal.SIGTERM, signal.SIGINT}
    if "CLOUDS_WAIT" in os.environ:
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    run.progress(steps)
    if "CLOUDS_WAIT" in os.environ:
        came = signal.sigwait(stops)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)
        signal.raise_signal(came)


def misbehave(run: nf.Run) -> None:
    mischief = run["learn.mischief"]
    if mischief == "raise":
        raise ValueError("out of luck")
    if mischief == "exit":
        sys.exit(3)
    if mischief == "bad_data":
        raise nf.BadData("the points are blunt")
    if mischief == "diverge":
        raise nf.Diverged("too far")
    if mischief == "no_memory":
        raise MemoryError("of this size")


nf.main(train, SETTINGS)
