import random

import numpy as np
import torch
from torch import nn


def seed_everything(seed=0):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class GridWorld:
    """A toy environment: walk to the goal on a line."""

    def __init__(self, size=9):
        self.size = size
        self.rng = np.random.default_rng()

    def reset(self):
        self.pos = int(self.rng.integers(0, self.size))
        self.goal = self.size // 2
        return self.obs()

    def obs(self):
        return torch.tensor([self.pos / self.size, self.goal / self.size])

    def step(self, action):
        self.pos = min(max(self.pos + (1 if action else -1), 0), self.size - 1)
        done = self.pos == self.goal
        return self.obs(), (1.0 if done else -0.1), done


seed_everything(0)
env = GridWorld()
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)

for episode in range(80):
    obs, logps, rewards = env.reset(), [], []
    for t in range(20):
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
        logps.append(dist.log_prob(action))
        obs, r, done = env.step(int(action))
        rewards.append(r)
        if done:
            break
    returns = torch.tensor([sum(rewards[i:]) for i in range(len(rewards))])
    loss = -(torch.stack(logps) * returns).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
