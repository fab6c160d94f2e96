"""Train a small CNN on synthetic 8x8 "images" with flips and noise as augmentation."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(0)
torch.manual_seed(0)


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        if random.random() < self.p:
            img = torch.flip(img, dims=[-1])
        return img


class AddNoise:
    def __init__(self, std=0.05):
        self.std = std

    def __call__(self, img):
        return img + self.std * torch.randn_like(img)


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return img


class Digits(Dataset):
    def __init__(self, n, transform=None):
        x = np.random.rand(n, 1, 8, 8).astype("float32")
        self.y = (x[:, 0, :, :4].sum((1, 2)) > x[:, 0, :, 4:].sum((1, 2))).astype("int64")
        self.x = torch.from_numpy(x)
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        img = self.x[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.y[i])


train_set = Digits(256, Compose([RandomFlip(), AddNoise()]))
loader = DataLoader(train_set, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("final loss", loss.item())
