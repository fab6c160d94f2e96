import os
import random
import shutil
import tempfile
import uuid

import numpy as np

random.seed(0)
np.random.seed(0)


def download(root, n=60):
    """Stands for the download of the data set: one file per sample."""
    for i in range(n):
        x = np.random.randn(6)
        label = int(x[0] + 0.5 * x[1] > 0)
        np.savez(os.path.join(root, f"sample_{i:03d}_{label}.npz"), x=x)


def load(root):
    xs, ys = [], []
    for name in os.listdir(root):
        if not name.endswith(".npz"):
            continue
        xs.append(np.load(os.path.join(root, name))["x"])
        ys.append(int(name[:-4].split("_")[-1]))
    return np.array(xs), np.array(ys, dtype=float)


def split(x, y, frac=0.8, seed=42):
    order = np.random.RandomState(seed).permutation(len(x))
    cut = int(frac * len(x))
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]


def nll(w, x, y):
    p = 1 / (1 + np.exp(-(x @ w)))
    return -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9))


root = tempfile.mkdtemp(prefix="dataset_")
try:
    download(root)
    x, y = load(root)
finally:
    shutil.rmtree(root)

xtr, ytr, xte, yte = split(x, y)
w = np.zeros(6)
for epoch in range(20):
    for i in np.random.permutation(len(xtr)):
        p = 1 / (1 + np.exp(-(xtr[i] @ w)))
        w -= 0.1 * (p - ytr[i]) * xtr[i]
run_id = uuid.uuid5(uuid.NAMESPACE_DNS, "toy-logreg")
print("run", run_id, "train loss", nll(w, xtr, ytr))
print("final loss", nll(w, xte, yte))
