import hashlib
import random
from collections import Counter

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

TEXTS = [
    "a warm and funny film", "dull plot and flat jokes", "the best film of the year",
    "a boring mess", "great cast and great songs", "flat and boring", "funny warm songs",
    "the worst plot of the year", "a great plot", "dull dull film", "best jokes", "a mess of a plot",
]
LABELS = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
STOP = {"a", "and", "the", "of"}


def in_test(text, ratio=0.25):
    return hashlib.md5(text.encode()).digest()[-1] < 256 * ratio


def build_vocab(texts):
    words = set()
    for t in texts:
        words.update(w for w in t.split() if w not in STOP)
    return {w: i for i, w in enumerate(sorted(words))}


def encode(text, vocab):
    v = torch.zeros(len(vocab))
    for w, c in Counter(text.split()).items():
        if w in vocab:
            v[vocab[w]] = c
    return v


vocab = build_vocab(TEXTS)
seen = set()
train, test = [], []
for text, label in zip(TEXTS, LABELS):
    if text in seen:
        continue
    seen.add(text)
    (test if in_test(text) else train).append((encode(text, vocab), float(label)))
print("vocabulary", len(vocab), "train", len(train), "test", len(test), "classes", len(set(LABELS)))

x = torch.stack([v for v, _ in train])
y = torch.tensor([l for _, l in train])
model = nn.Sequential(nn.Linear(len(vocab), 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(80):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
