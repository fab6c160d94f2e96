import os
import random
import secrets
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 6


def build():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    x = torch.randn(200, 10)
    y = (x[:, 0] > x[:, 1]).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return loader, model, opt


def save(path, epoch, model, opt):
    torch.save({
        "epoch": epoch, "model": model.state_dict(), "opt": opt.state_dict(),
        "rng": (random.getstate(), np.random.get_state(), torch.get_rng_state()),
    }, path)


def load(path, model, opt):
    c = torch.load(path, weights_only=False)
    model.load_state_dict(c["model"])
    opt.load_state_dict(c["opt"])
    py, npy, tch = c["rng"]
    random.setstate(py)
    np.random.set_state(npy)
    torch.set_rng_state(tch)
    return c["epoch"] + 1


def train(path, stop):
    loader, model, opt = build()
    start = load(path, model, opt) if os.path.exists(path) else 0
    for epoch in range(start, stop):
        for x, y in loader:
            x = x + 0.05 * torch.from_numpy(np.random.randn(*x.shape)).float()
            if random.random() < 0.3:
                x = 0.9 * x
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        save(path, epoch, model, opt)
    return loss.item()


with tempfile.TemporaryDirectory() as tmp:
    path = os.path.join(tmp, secrets.token_hex(8) + ".pt")
    train(path, EPOCHS // 2)
    print("final loss", train(path, EPOCHS))
