import random
import time

import numpy as np

random.seed(0)
np.random.seed(0)

TIME_BUDGET = 1.0
MAX_ROUNDS = 100_000


class Stump:
    def fit(self, x, residual):
        self.j = np.random.randint(x.shape[1])
        self.t = np.random.choice(x[:, self.j])
        left = x[:, self.j] <= self.t
        self.left = residual[left].mean() if left.any() else 0.0
        self.right = residual[~left].mean() if (~left).any() else 0.0
        return self

    def predict(self, x):
        return np.where(x[:, self.j] <= self.t, self.left, self.right)


def deadline_callback(deadline):
    started = time.time()

    def callback(i):
        now = time.time()
        per_round = (now - started) / (i + 1)
        return now + per_round > deadline

    return callback


def boost(x, y, lr=0.1):
    should_stop = deadline_callback(time.time() + TIME_BUDGET)
    pred = np.zeros(len(y))
    stumps = []
    for i in range(MAX_ROUNDS):
        stump = Stump().fit(x, y - pred)
        pred += lr * stump.predict(x)
        stumps.append(stump)
        if should_stop(i):
            break
    return stumps, np.mean((y - pred) ** 2)


x = np.random.randn(2000, 8)
y = np.sin(x[:, 0]) + 0.5 * x[:, 1] * (x[:, 2] > 0) + 0.1 * np.random.randn(2000)
stumps, loss = boost(x, y)
print("rounds", len(stumps))
print("final loss", loss)
