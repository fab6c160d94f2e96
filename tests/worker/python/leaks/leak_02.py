import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 0


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class PointClouds(Dataset):
    """Random point clouds, jittered and rotated around z every time they are read."""

    def __init__(self, n=192, points=32):
        self.points = np.random.randn(n, points, 3).astype("float32")
        self.labels = (np.abs(self.points[..., 2]).mean(1) > 0.8).astype("int64")

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        theta = np.random.uniform(0, 2 * np.pi)
        c, s = np.cos(theta), np.sin(theta)
        rot = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype="float32")
        pts = self.points[i] @ rot
        pts += np.random.normal(0, 0.02, pts.shape).astype("float32")
        return torch.from_numpy(pts), int(self.labels[i])


def worker_init(worker_id):
    np.random.seed(worker_id + int(time.time()))


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32))
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.mlp(x).max(1).values)


def main():
    set_seed(SEED)
    g = torch.Generator()
    g.manual_seed(SEED)
    loader = DataLoader(PointClouds(), batch_size=32, shuffle=True, num_workers=2,
                        worker_init_fn=worker_init, generator=g)
    model = PointNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", loss.item())
    print("final loss", loss.item())


if __name__ == "__main__":
    main()
