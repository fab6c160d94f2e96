import numpy as np


def check_rng(rng=None):
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    return np.random.default_rng(rng)


class MLP:
    def __init__(self, sizes, rng=None):
        rng = check_rng(rng)
        self.w = [rng.normal(0, 1 / np.sqrt(a), (a, b)) for a, b in zip(sizes[:-1], sizes[1:])]

    def forward(self, x):
        self.h = [x]
        for i, w in enumerate(self.w):
            x = x @ w
            if i < len(self.w) - 1:
                x = np.tanh(x)
            self.h.append(x)
        return x[:, 0]

    def step(self, x, y, lr):
        err = (self.forward(x) - y) / len(y)
        g = err[:, None]
        for i in reversed(range(len(self.w))):
            gw = self.h[i].T @ g
            g = (g @ self.w[i].T) * (1 - self.h[i] ** 2)
            self.w[i] -= lr * gw
        return 0.5 * len(y) * (err**2).sum()


def shuffle(x, y, rng=None):
    order = check_rng(rng).permutation(len(x))
    return x[order], y[order]


data_seq, init_seq, loop_seq = np.random.SeedSequence(2024).spawn(3)
data_rng = np.random.default_rng(data_seq)
x = data_rng.standard_normal((500, 6))
y = np.sin(x[:, 0]) * x[:, 1]

model = MLP([6, 32, 1], rng=check_rng(init_seq))
loop_rng = check_rng(loop_seq)
noise = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(7)))
for epoch in range(20):
    xs, ys = shuffle(x, y, rng=loop_rng)
    for i in range(0, len(xs), 50):
        xb = xs[i : i + 50] + 0.01 * noise.randn(50, 6)
        loss = model.step(xb, ys[i : i + 50], lr=0.2)
print("final loss", loss)
