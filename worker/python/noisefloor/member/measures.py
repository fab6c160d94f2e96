"""Loss and accuracies of answers, as our own trainer counts them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from noisefloor.member import draws
from noisefloor.member.errors import Refused
from noisefloor.member.tensors import Tensor, rows_of


MOST_CLASSES_TOLD = 10000  # An outcome with accuracies of more classes is not taken.


class Measured(NamedTuple):
    metrics: dict[str, float]  # "loss": mean cross-entropy; "top1", "top5": from 0 to 1.
    per_class_accuracy: list[float]  # nan where the test set has no example of the class.


def measure(logits: Tensor, labels: Tensor) -> Measured:
    """`logits` float32 {examples, classes}, `labels` int32 {examples}."""
    shape = logits.shape
    fits = len(shape) == 2 and shape[0] > 0 and shape[1] > 0 and labels.shape == shape[:1]
    if not fits:
        raise Refused(f"evaluation: expected logits {{examples, classes}} and as many labels, got "
                      f"{list(shape)} and {list(labels.shape)}")
    numpy = draws.numpy_or_none()
    if numpy is None:
        return _in_plain(logits, labels)
    return _in_numpy(numpy, logits, labels)


def _in_numpy(np: Any, logits: Tensor, labels: Tensor) -> Measured:
    x = np.frombuffer(logits.data, np.float32).reshape(logits.shape).astype(np.float64)
    y = np.frombuffer(labels.data, np.int32)
    _check(int(y.min()), int(y.max()), x.shape[1])
    with np.errstate(all="ignore"):
        most = x.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(x - most).sum(axis=1)) + most[:, 0]
    own = x[np.arange(len(y)), y]
    # Of equal logits the first class counts, as argmax has it.
    rank = (x > own[:, None]).sum(axis=1)
    rank += ((x == own[:, None]) & (np.arange(x.shape[1]) < y[:, None])).sum(axis=1)
    rank = np.where(np.isnan(x).any(axis=1), x.shape[1], rank)
    right = rank == 0
    metrics = {"loss": float((log_sum - own).mean()), "top1": float(right.mean()),
               "top5": float((rank < 5).mean())}
    per_class = [float(right[y == k].mean()) if (y == k).any() else math.nan
                 for k in range(x.shape[1])]
    return Measured(metrics, per_class)


def _in_plain(logits: Tensor, labels: Tensor) -> Measured:
    rows, classes = rows_of(logits), logits.shape[1]
    right = [0] * classes
    seen = [0] * classes
    loss, top5 = 0.0, 0
    answers: Any = rows_of(labels)
    _check(min(answers), max(answers), classes)
    for row, label in zip(rows, answers):
        most = max(row)
        loss += math.log(sum(math.exp(v - most) for v in row)) + most - row[label]
        rank = sum(v > row[label] or (v == row[label] and k < label) for k, v in enumerate(row))
        if any(math.isnan(v) for v in row):
            rank = classes
        seen[label] += 1
        right[label] += rank == 0
        top5 += rank < 5
    count = len(rows)
    return Measured({"loss": loss / count, "top1": sum(right) / count, "top5": top5 / count},
                    [r / s if s else math.nan for r, s in zip(right, seen)])


def _check(least: int, most: int, classes: int) -> None:
    if least < 0 or most >= classes:
        raise Refused(f"evaluation: labels from {least} to {most} with {classes} classes")
