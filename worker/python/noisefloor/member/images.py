"""Batches of images as our own trainer's networks see them: worker/trainer/data/augment.h, bit for bit.

From the settings that our trainer has (`augment.*`, `train.batch_size`, `train.drop_last`,
`sources.data_order.window`, `sources.augment.key`), for scripts that publish them: `settings()`.
"""

from __future__ import annotations

import json
import math
import os
from typing import Iterator, NamedTuple

import numpy as np

from noisefloor.member.data import Split
from noisefloor.member.errors import Refused
from noisefloor.member.run import Run
from noisefloor.member.settings import Setting


def settings() -> list[Setting]:
    """Those of our own trainer: a script that publishes them may stand beside it in one sweep, as
    another stack. It refuses the values that it does not have."""
    path = os.path.join(os.path.dirname(__file__), "our_settings.json")
    with open(path, encoding="utf-8") as file:
        ours: list[Setting] = json.load(file)
    return ours


class Batch(NamedTuple):
    images: np.ndarray  # float32 {n, channels, height, width}
    labels: np.ndarray  # int64 {n}


def batches_of_epoch(run: Run, split: Split) -> int:
    whole, rest = divmod(len(split.labels), run["train.batch_size"])
    return int(whole if rest == 0 or run["train.drop_last"] else whole + 1)


def batches(run: Run, split: Split, epoch: int, start: int = 0) -> Iterator[Batch]:
    """The batches of an epoch from `start` on: order from data_order, crops, flips and cutouts from
    augment."""
    if run.settings.get("measure.steps", 0) > 0:
        raise Refused("measure.steps: this trainer trains, it measures nothing")
    order = run.data_order.order(len(split.labels), epoch, run["sources.data_order.window"])
    size = run["train.batch_size"]
    by_position = run["sources.augment.key"] == "position"
    for i in range(start, batches_of_epoch(run, split)):
        chosen = order[i * size:(i + 1) * size]
        keys = range(i * size, i * size + len(chosen)) if by_position else chosen
        made = [_augmented(run, split.images[example], epoch, key)
                for example, key in zip(chosen, keys)]
        yield Batch(np.stack(made), split.labels[chosen])


def evaluation(run: Run, split: Split) -> Batch:
    """A whole split without random parts."""
    return Batch(np.stack([_valued(run, image) for image in split.images]), split.labels)


def _augmented(run: Run, image: np.ndarray, epoch: int, key: int) -> np.ndarray:
    words = [int(w) for w in run.augment.words(epoch, 8, first=8 * key)]
    _, height, width = image.shape
    padding, size = run["augment.crop_padding"], run["augment.cutout"]
    if padding > 0:
        top, left = (word * (2 * padding + 1) >> 32 for word in words[:2])
        framed = np.pad(image, ((0, 0), (padding, padding), (padding, padding)))
        image = framed[:, top:top + height, left:left + width]
    if run["augment.flip"] and words[2] >> 31:
        image = image[:, :, ::-1]
    values = _valued(run, image)
    if size > 0:
        top = (words[4] * height >> 32) - size // 2
        left = (words[5] * width >> 32) - size // 2
        values[:, max(0, top):max(0, top + size), max(0, left):max(0, left + size)] = 0.0
    return values


def _valued(run: Run, image: np.ndarray) -> np.ndarray:
    if not run["augment.standardise"]:
        return (image.astype(np.float32) / np.float32(255.0)).astype(np.float32)
    whole = image.astype(np.int64)
    n, total, squares = whole.size, int(whole.sum()), int((whole * whole).sum())
    mean = total / (255.0 * n)
    deviation = math.sqrt(float(n * squares - total * total)) / (255.0 * n)
    divisor = max(deviation, 1.0 / math.sqrt(n))
    return ((whole / 255.0 - mean) / divisor).astype(np.float32)


def learning_rate(run: Run, step: int, steps_of_epoch: int) -> float:
    """Of a step, from 0: worker/trainer/torch/optim/schedule.h, bit for bit."""
    base = float(run["train.optimizer.learning_rate"])
    warmup = math.floor(float(run["train.schedule.warmup_epochs"]) * steps_of_epoch + 0.5)
    if step < warmup:
        return base * ((step + 1) / warmup)
    if run["train.schedule.name"] == "constant":
        return base
    return base * _share(run, step, steps_of_epoch, warmup)


def _share(run: Run, step: int, steps_of_epoch: int, warmup: int) -> float:
    """Of the base rate, after the warm-up."""
    def number(name: str) -> float:
        return float(run["train.schedule." + name])
    name, total = run["train.schedule.name"], int(run["train.epochs"]) * steps_of_epoch
    epoch, done = step // steps_of_epoch, (step - warmup) / (total - warmup)
    reached = sum(epoch >= milestone for milestone in run["train.schedule.milestones"])
    if name == "step":
        return _power(number("factor"), reached)
    if name == "staircase":
        return _power(number("factor"), epoch // run["train.schedule.every_epochs"])
    if name == "cosine":
        return 0.5 * (1.0 + _cosine_of_pi(done))
    if name == "polynomial":
        power = _power(1.0 - done, run["train.schedule.power"])
        return number("end") + (1.0 - number("end")) * power
    if name == "triangular":
        peak = int(number("peak") * total)
        if step < peak:
            return number("start") + (1.0 - number("start")) * (step / peak)
        return 1.0 + (number("end") - 1.0) * ((step - peak) / (total - peak))
    return float(run["train.schedule.factors"].split(" ")[reached])


def _power(base: float, exponent: int) -> float:
    """From the left, as our trainer multiplies."""
    power = 1.0
    for _ in range(exponent):
        power *= base
    return power


def _cosine_of_pi(x: float) -> float:
    """Of pi * x, x from 0 to 1: a C library's cosine differs in bits between processors."""
    if x > 0.5:
        return -_cosine_of_pi(1.0 - x)
    angle = 3.14159265358979323846 * x
    square, term, total = angle * angle, 1.0, 1.0
    for k in range(1, 13):
        term *= -square / ((2.0 * k - 1.0) * (2.0 * k))
        total += term
    return total
