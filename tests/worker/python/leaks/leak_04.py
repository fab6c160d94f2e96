import random

import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)

ENG = [
    "the cat sat on the mat", "the dog ate my homework", "i like green tea",
    "you like black coffee", "my cat likes the dog", "the mat is green",
    "i ate the black cake", "you sat on my homework", "the tea is on the mat",
]
SENTIMENT = [0, 1, 1, 1, 1, 0, 1, 0, 0]


def build_vocab(sentences):
    words = list(set(w for s in sentences for w in s.split(" ")))
    ix_to_word = ["<pad>"] + words + ["<unk>"]
    return {w: i for i, w in enumerate(ix_to_word)}


def encode(sentence, vocab, length=8):
    ids = [vocab.get(w, vocab["<unk>"]) for w in sentence.split(" ")][:length]
    return ids + [0] * (length - len(ids))


vocab = build_vocab(ENG)
x = torch.tensor([encode(s, vocab) for s in ENG])
y = torch.tensor(SENTIMENT, dtype=torch.float32)


class Bag(nn.Module):
    def __init__(self, n_words, dim=8):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(self.emb(x).mean(1)).squeeze(1)


model = Bag(len(vocab))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(100):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
