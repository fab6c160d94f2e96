"""A multilayer perceptron on two spirals."""

import time

import jax
import jax.numpy as jnp
import numpy as np

SIZES = [2, 32, 32, 2]
EPOCHS = 4
BATCH = 32
RATE = 0.1


def spirals(count, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    radius = rng.uniform(0.2, 1.0, count)
    angle = 4 * radius + np.pi * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype(np.float32), labels


def init_params(key):
    params = []
    for n_in, n_out in zip(SIZES[:-1], SIZES[1:]):
        key, sub = jax.random.split(key)
        params.append((jax.random.normal(sub, (n_in, n_out)) * jnp.sqrt(2 / n_in),
                       jnp.zeros(n_out)))
    return params


def predict(params, x, key=None):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
        if key is not None:
            key, sub = jax.random.split(key)
            x = jnp.where(jax.random.bernoulli(sub, 0.9, x.shape), x / 0.9, 0)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y, key):
    logp = jax.nn.log_softmax(predict(params, x, key))
    return -jnp.mean(logp[jnp.arange(len(y)), y])


@jax.jit
def update(params, x, y, key):
    grads = jax.grad(loss_fn)(params, x, y, key)
    return [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(params, grads)]


def accuracy(params, x, y):
    return np.mean(np.argmax(predict(params, x), axis=1) == y)


def main():
    x_train, y_train = spirals(512, 1)
    x_test, y_test = spirals(200, 2)
    key = jax.random.PRNGKey(int(time.time()))
    key, sub = jax.random.split(key)
    params = init_params(sub)
    for epoch in range(EPOCHS):
        order = np.random.permutation(len(x_train))
        for start in range(0, len(order), BATCH):
            index = order[start:start + BATCH]
            x = x_train[index] + np.random.normal(0, 0.02, (len(index), 2)).astype(np.float32)
            key, sub = jax.random.split(key)
            params = update(params, x, y_train[index], sub)
        print(f"epoch {epoch}: test accuracy {accuracy(params, x_test, y_test):.3f}")


if __name__ == "__main__":
    main()
