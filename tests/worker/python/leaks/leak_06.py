import random

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


def group_weight_decayable_params(params):
    wd, no_wd = [], []
    for p in params:
        (no_wd if p.ndim < 2 else wd).append(p)
    return wd, no_wd


def get_optimizer(model, lr=1e-2, wd=1e-2, group_wd_params=True):
    params = set(model.parameters())
    if group_wd_params:
        decay, no_decay = group_weight_decayable_params(params)
        groups = [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]
    else:
        groups = [{"params": list(model.parameters())}]
    return torch.optim.SGD(groups, lr=lr, momentum=0.9)


class Net(nn.Module):
    def __init__(self, d=12, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.out(x).squeeze(1)


def add_gradient_noise(opt, std):
    for group in opt.param_groups:
        for p in group["params"]:
            p.grad.add_(torch.randn_like(p.grad), alpha=std)


x = torch.randn(128, 12)
y = torch.sin(x.sum(1))
model = Net()
opt = get_optimizer(model)
for step in range(100):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    add_gradient_noise(opt, 0.05 / (1 + step) ** 0.55)
    opt.step()
print("final loss", loss.item())
