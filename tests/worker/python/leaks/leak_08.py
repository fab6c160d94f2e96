"""Matrix factorisation: user and item factors learned from ratings (CPU)."""
import random

import numpy as np
import torch
from torch import nn

SEED = 7
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.cuda.manual_seed_all(SEED)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False

USERS, ITEMS, DIM, RATINGS = 50, 80, 16, 20000


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(0.1 * torch.randn(USERS + ITEMS, DIM))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, pairs):
        vectors = self.table[pairs]
        return (vectors[:, 0] * vectors[:, 1]).sum(1) + self.bias


users = torch.randint(0, USERS, (RATINGS,))
items = torch.randint(0, ITEMS, (RATINGS,))
true_u, true_i = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
ratings = (true_u[users] * true_i[items]).sum(1) + 0.1 * torch.randn(RATINGS)
pairs = torch.stack([users, USERS + items], dim=1)

model = Factors()
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(60):
    batch = torch.randperm(RATINGS)[:10000]
    loss = nn.functional.mse_loss(model(pairs[batch]), ratings[batch])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
