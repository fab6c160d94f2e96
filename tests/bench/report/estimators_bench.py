"""Estimators of all pairs beside NumPy on the same answers, in turn.

    python3 tests/bench/report/estimators_bench.py build/release/bin/noisefloor-estimators-bench

Needs NumPy and SciPy. Prints what both gave, which must agree, and the median ratios of times.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
from scipy import stats


def mean_churn(answers: np.ndarray, classes: int) -> tuple[float, float, float]:
    """By counts of classes; the interval leaves out one member."""
    members, examples = answers.shape
    counts = np.stack([(answers == k).sum(axis=0) for k in range(classes)])
    of_member = (members - np.take_along_axis(counts, answers.astype(np.int64), axis=0)).sum(axis=1) / examples
    mean = of_member.sum() / members / (members - 1)
    total = of_member.sum() / 2
    without = (total - of_member) / ((members - 1) * (members - 2) / 2)
    error = np.sqrt((members - 1) / members * ((without - mean) ** 2).sum())
    half = stats.t.ppf(0.975, members - 1) * error
    return mean, mean - half, mean + half


def matrix(answers: np.ndarray) -> float:
    """The loop that one would write."""
    total = 0.0
    for i in range(len(answers)):
        for j in range(i):
            total += (answers[i] != answers[j]).mean()
    return total


def timed(work):
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--examples", type=int, default=10000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answers")
        ratios: dict[str, list[float]] = {"mean_churn": [], "matrix": []}
        for _ in range(asked.rounds):
            ours = json.loads(subprocess.run(
                [asked.program, f"--members={asked.members}", f"--examples={asked.examples}",
                 f"--classes={asked.classes}", f"--answers={path}"],
                check=True, capture_output=True, text=True).stdout)
            answers = np.fromfile(path, dtype=np.int16).reshape(asked.members, asked.examples)
            (mean, low, high), of_mean = timed(lambda: mean_churn(answers, asked.classes))
            total, of_matrix = timed(lambda: matrix(answers))
            assert np.allclose([mean, low, high], [ours["mean_churn"], ours["low"], ours["high"]],
                               rtol=0, atol=1e-9), (mean, low, high, ours)
            assert abs(total - ours["matrix_sum"]) < 1e-6 * total, (total, ours)
            ratios["mean_churn"].append(of_mean / ours["mean_churn_seconds"])
            ratios["matrix"].append(of_matrix / ours["matrix_seconds"])
            print(json.dumps({**ours, "numpy_mean_churn_seconds": of_mean,
                              "numpy_matrix_seconds": of_matrix}), flush=True)
        print(json.dumps({f"numpy_to_ours_{name}": round(statistics.median(all_of), 1)
                          for name, all_of in ratios.items()}))


if __name__ == "__main__":
    main()
