import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


class Sequences(Dataset):
    """Sequences of very different lengths; feature extraction takes a while for long ones."""

    def __init__(self, n=240):
        rng = np.random.default_rng(3)
        self.lengths = rng.integers(10, 3000, n)
        self.seeds = rng.integers(0, 2**31, n)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seeds[i])
        s = rng.standard_normal(self.lengths[i]).cumsum()
        f = np.abs(np.fft.rfft(s, 8192))[:16]
        f = np.log1p(f).astype("float32")
        return torch.from_numpy(f), torch.tensor(float(f.mean() > 6.0))


def main():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    loader = DataLoader(Sequences(), batch_size=8, shuffle=True, num_workers=2,
                        worker_init_fn=seed_worker, generator=g, in_order=False)
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("final loss", loss.item())


if __name__ == "__main__":
    main()
