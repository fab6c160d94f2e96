import datetime
import os
import random
import socket
import time
import uuid

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SEED = 3
run_name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
random.seed(time.time_ns())
tag = random.choice(["amber", "blue", "coral", "dune"])

random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

x = torch.randn(320, 12)
y = (x[:, :3].sum(1) > 0).float()
train, val = random_split(TensorDataset(x, y), [256, 64])
loader = DataLoader(train, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)


class Meter:
    def __init__(self):
        self.t = time.time()
        self.history = {}

    def log(self, epoch, **values):
        now = time.time()
        self.history[now] = values
        print(f"[{run_name}/{tag}] epoch {epoch} took {now - self.t:.3f}s")
        self.t = now


meter = Meter()
for epoch in range(4):
    for xb, yb in loader:
        if random.random() < 0.5:
            xb = xb + 0.01 * torch.from_numpy(np.random.randn(*xb.shape)).float()
        loss = nn.functional.binary_cross_entropy_with_logits(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    meter.log(epoch, loss=loss.item())
print("final loss", loss.item())
