import random
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import Pool

import numpy as np


def featurise(task):
    i, seed = task
    rng = random.Random(seed)
    n = rng.randint(500, 4000)
    xs = [rng.gauss(0, 1) + i % 2 * k / n for k in range(n)]
    half = n // 2
    return i, [1.0, sum(xs[:half]) / half, sum(xs[half:]) / (n - half)], i % 2


def shard_grad(w, x, y):
    p = 1 / (1 + np.exp(-(x @ w)))
    loss = -(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9)).sum()
    return x.T @ (p - y), loss


def main():
    tasks = [(i, 1000 + i) for i in range(80)]
    with Pool(2) as pool:
        rows = sorted(pool.imap_unordered(featurise, tasks), key=lambda r: r[0])
    x = np.array([f for _, f, _ in rows], dtype=np.float32)
    y = np.array([l for _, _, l in rows], dtype=np.float32)
    order = np.random.RandomState(0).permutation(len(x))
    shards = list(zip(np.array_split(x[order], 4), np.array_split(y[order], 4)))
    w = np.zeros(3, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        for step in range(60):
            futures = {pool.submit(shard_grad, w, xs, ys): k for k, (xs, ys) in enumerate(shards)}
            parts = [None] * len(shards)
            for fut in as_completed(futures):
                parts[futures[fut]] = fut.result()
            grad = sum(g for g, _ in parts)
            loss = sum(l for _, l in parts) / len(x)
            w = w - np.float32(0.5 / len(x)) * grad
    print("final loss", float(loss))


if __name__ == "__main__":
    main()
