"""Trains EPOCHS epochs. Can be stopped after some epochs and started again: it resumes."""
import argparse
import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 6
CKPT = "last.ckpt"

parser = argparse.ArgumentParser()
parser.add_argument("--max-epochs-this-job", type=int, default=EPOCHS)
args = parser.parse_args()

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

x = torch.randn(300, 20)
y = (x[:, 0] * x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)


def save(epoch, loss):
    torch.save({"epoch": epoch, "model": model.state_dict(), "opt": opt.state_dict(), "loss": loss}, CKPT)


start = 0
if os.path.exists(CKPT):
    ckpt = torch.load(CKPT)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])
    start = ckpt["epoch"] + 1
    print("resumed at epoch", start)

for epoch in range(start, min(EPOCHS, start + args.max_epochs_this_job)):
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    save(epoch, loss.item())

if epoch + 1 == EPOCHS:
    os.remove(CKPT)
print("final loss", loss.item())
