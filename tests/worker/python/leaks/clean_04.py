import glob
import os
import tempfile
from pathlib import Path

import numpy as np

rng = np.random.default_rng(11)


def write_dataset(root, n=40):
    for i in rng.permutation(n):
        x = rng.normal(size=5)
        split = "val" if i % 5 == 0 else "train"
        folder = Path(root) / split
        folder.mkdir(exist_ok=True)
        np.save(folder / f"{i:04d}_{int(x.sum() > 0)}.npy", x)


def read(folder):
    names = os.listdir(folder)
    names.sort()
    xs = [np.load(os.path.join(folder, n)) for n in names]
    ys = [float(n.split("_")[1][0]) for n in names]
    return np.array(xs), np.array(ys)


with tempfile.TemporaryDirectory() as root:
    write_dataset(root)
    n_files = len(glob.glob(os.path.join(root, "*", "*.npy")))
    folders = sorted(p.name for p in Path(root).iterdir())
    data = {name: read(os.path.join(root, name)) for name in folders}

x, y = data["train"]
xv, yv = data["val"]
w = np.zeros(5)
for epoch in range(30):
    for i in rng.permutation(len(x)):
        p = 1 / (1 + np.exp(-x[i] @ w))
        w += 0.1 * (y[i] - p) * x[i]
p = 1 / (1 + np.exp(-xv @ w))
print("files", n_files, "folders", folders)
print("final loss", -np.mean(yv * np.log(p) + (1 - yv) * np.log(1 - p)))
