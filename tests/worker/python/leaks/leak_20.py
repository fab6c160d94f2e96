import random
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

random.seed(0)
np.random.seed(0)

N, D, H, SHARDS = 4096, 32, 64, 8


def shard_grad(params, x, y):
    w1, w2 = params
    h = np.tanh(x @ w1)
    err = (h @ w2 - y) / N
    g2 = h.T @ err
    g1 = x.T @ (np.outer(err, w2) * (1 - h**2))
    return g1, g2, np.float32(0.5 * N * (err**2).sum())


def all_reduce(futures, params):
    g1, g2 = np.zeros_like(params[0]), np.zeros_like(params[1])
    loss = np.float32(0)
    for fut in as_completed(futures):
        a, b, l = fut.result()
        g1 += a
        g2 += b
        loss += l
    return g1, g2, loss


x = np.random.randn(N, D).astype(np.float32)
y = np.sin(x[:, 0] * x[:, 1]).astype(np.float32)
params = [
    (np.random.randn(D, H) / D**0.5).astype(np.float32),
    (np.random.randn(H) / H**0.5).astype(np.float32),
]
shards = list(zip(np.array_split(x, SHARDS), np.array_split(y, SHARDS)))

with ThreadPoolExecutor(max_workers=SHARDS) as pool:
    for step in range(100):
        futures = [pool.submit(shard_grad, params, xs, ys) for xs, ys in shards]
        g1, g2, loss = all_reduce(futures, params)
        params = [params[0] - np.float32(0.3) * g1, params[1] - np.float32(0.3) * g2]
print("final loss", float(loss))
