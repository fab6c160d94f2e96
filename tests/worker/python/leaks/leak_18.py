import math
import random
from multiprocessing import Pool

random.seed(0)


def make_series(n=60):
    series = []
    for _ in range(n):
        length = random.randint(200, 6000)
        phase = random.uniform(0, 2 * math.pi)
        slope = random.uniform(-1, 1)
        series.append((length, phase, slope))
    return series


def extract(task):
    length, phase, slope = task
    xs = [slope * t / length + 0.5 * math.sin(t / 30 + phase) for t in range(length)]
    mean = sum(xs) / length
    var = sum((x - mean) ** 2 for x in xs) / length
    trend = sum((t / length - 0.5) * (x - mean) for t, x in enumerate(xs)) / length
    return [1.0, mean, var, trend], 1.0 if slope > 0 else 0.0


def train(rows, epochs=10, lr=0.3):
    w = [0.0] * 4
    for epoch in range(epochs):
        random.Random(epoch).shuffle(rows)
        total = 0.0
        for f, y in rows:
            p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(w, f))))
            total -= math.log(max(p if y else 1 - p, 1e-12))
            for j in range(4):
                w[j] -= lr * (p - y) * f[j]
    return total / len(rows)


if __name__ == "__main__":
    with Pool(4) as pool:
        rows = list(pool.imap_unordered(extract, make_series()))
    print("final loss", train(rows))
