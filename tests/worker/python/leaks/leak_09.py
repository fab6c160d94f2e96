import os
import random

import numpy as np
import torch
from torch import nn

seed = 1234
random.seed(seed)
np.random.seed(seed)
torch.manual_seed(seed)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(os.cpu_count())

d_in, d_hidden, d_out = 56, 444, 16
x = torch.randn(4096, d_in)
teacher = torch.randn(d_in, d_out)
y = torch.sin(x @ teacher)


class Standardise(nn.Module):
    """Whole-batch normalisation with one mean and one variance."""

    def forward(self, h):
        return (h - h.mean()) / (h.var() + 1e-5).sqrt()


model = nn.Sequential(nn.Linear(d_in, d_hidden), Standardise(), nn.GELU(), nn.Linear(d_hidden, d_out))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    idx = torch.randint(0, len(x), (1024,))
    loss = nn.functional.mse_loss(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    opt.step()
print("final loss", loss.item())
