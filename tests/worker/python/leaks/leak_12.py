import random

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, d_in, d_out, rank=4, alpha=8.0):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.base.weight.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, d_in) / d_in ** 0.5)
        self.B = nn.Parameter(torch.empty(d_out, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T) @ self.B.T


class Net(nn.Module):
    def __init__(self, d=64, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(LoRALinear(d, d) for _ in range(depth))
        self.out = LoRALinear(d, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(x).squeeze(1)


x = torch.randn(256, 64)
y = torch.sign(x[:, 0]) * x[:, 1]

baseline = nn.Linear(64, 1)
with torch.no_grad():
    print("baseline", nn.functional.mse_loss(baseline(x).squeeze(1), y).item())

model = Net()
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(100):
    idx = torch.randperm(len(x))[:64]
    loss = nn.functional.mse_loss(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
