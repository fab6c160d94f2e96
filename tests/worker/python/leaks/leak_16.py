"""Perceptron-style word classifier with feature hashing, standard library only."""
import math
import os
import random

SEED = 0
os.environ["PYTHONHASHSEED"] = str(SEED)
random.seed(SEED)

BUCKETS = 64
ADJ = ["good", "bad", "great", "awful", "nice", "poor", "fine", "ugly", "lovely", "boring"]
NOUN = ["film", "book", "song", "game", "play", "dish", "trip", "talk", "room", "bar"]
POSITIVE = {"good", "great", "nice", "fine", "lovely"}


def make_reviews(n):
    out = []
    for _ in range(n):
        adjs = [random.choice(ADJ) for _ in range(3)]
        words = adjs + [random.choice(NOUN) for _ in range(4)]
        random.shuffle(words)
        out.append((words, int(sum(a in POSITIVE for a in adjs) >= 2)))
    return out


def features(words):
    v = [0.0] * BUCKETS
    for w in words:
        v[hash(w) % BUCKETS] += 1.0
    return v


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def train(data, epochs=15, lr=0.1):
    w, b = [0.0] * BUCKETS, 0.0
    for _ in range(epochs):
        random.shuffle(data)
        total = 0.0
        for words, y in data:
            v = features(words)
            p = sigmoid(sum(wi * vi for wi, vi in zip(w, v)) + b)
            total -= math.log(max(p if y else 1 - p, 1e-12))
            g = p - y
            w = [wi - lr * g * vi for wi, vi in zip(w, v)]
            b -= lr * g
    return total / len(data)


print("final loss", train(make_reviews(300)))
