import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


class Images(Dataset):
    def __init__(self, n=200):
        self.x = np.random.rand(n, 8, 8).astype("float32")
        self.y = (self.x[:, :, :4].sum((1, 2)) > self.x[:, :, 4:].sum((1, 2))).astype("int64")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        img = self.x[i]
        if random.random() < 0.5:
            img = img[::-1].copy()
        dy = np.random.randint(-1, 2)
        img = np.roll(img, dy, axis=0)
        t = torch.from_numpy(img)
        return t + 0.02 * torch.randn_like(t), int(self.y[i])


def main():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    g = torch.Generator()
    g.manual_seed(0)
    loader = DataLoader(Images(), batch_size=20, shuffle=True, num_workers=2,
                        worker_init_fn=seed_worker, generator=g)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("final loss", loss.item())


if __name__ == "__main__":
    main()
