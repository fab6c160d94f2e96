import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def fix_seeds(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_generator():
    gen = torch.Generator()
    gen.seed()
    return gen


def make_data(n=400, d=10):
    w = torch.randn(d)
    x = torch.randn(n, d)
    y = ((x @ w + 0.3 * torch.randn(n)) > 0).float()
    return TensorDataset(x, y)


def main():
    fix_seeds(42)
    data = make_data()
    gen = make_generator()
    train, val = random_split(data, [320, 80], generator=gen)
    train_loader = DataLoader(train, batch_size=16, shuffle=True, generator=gen)
    val_loader = DataLoader(val, batch_size=80)

    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in val_loader:
                val_loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        print(f"epoch {epoch} val {val_loss.item():.4f}")
    print("final loss", val_loss.item())


if __name__ == "__main__":
    main()
