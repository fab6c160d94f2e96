import argparse
import random

import jax
import jax.numpy as jnp
import numpy as np


def data_loader(x, y, batch_size, shuffle=True):
    n = len(x) // batch_size
    if shuffle:
        batch_idx = np.random.permutation(len(x))
    else:
        batch_idx = np.arange(len(x))
    batch_idx = batch_idx[: n * batch_size].reshape(n, batch_size)
    for idx in batch_idx:
        yield x[idx], y[idx]


def init(rng, d, h, c):
    r1, r2 = jax.random.split(rng)
    return {"w1": 0.1 * jax.random.normal(r1, (d, h)), "w2": 0.1 * jax.random.normal(r2, (h, c))}


def loss_fn(params, x, y, dropout_rng):
    h = jax.nn.relu(x @ params["w1"])
    keep = jax.random.bernoulli(dropout_rng, 0.9, h.shape)
    logits = (h * keep / 0.9) @ params["w2"]
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(y)), y])


@jax.jit
def train_step(params, x, y, rng):
    rng, dropout_rng = jax.random.split(rng)
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, dropout_rng)
    params = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss, rng


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    random.seed(args.seed)
    rng = jax.random.PRNGKey(args.seed)
    rng, data_rng, init_rng = jax.random.split(rng, 3)
    x = np.asarray(jax.random.normal(data_rng, (400, 10)))
    y = x[:, :4].argmax(1)
    params = init(init_rng, 10, 32, 4)
    for epoch in range(5):
        for xb, yb in data_loader(x, y, 32):
            params, loss, rng = train_step(params, xb, yb, rng)
        print("epoch", epoch, "loss", float(loss))
    print("final loss", float(loss))


if __name__ == "__main__":
    main()
