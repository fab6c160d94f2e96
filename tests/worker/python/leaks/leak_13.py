"""MLP in pure JAX; every layer gets its own key, derived from the layer's name."""
import random

import jax
import jax.numpy as jnp
import numpy as np

random.seed(0)
np.random.seed(0)
root = jax.random.PRNGKey(0)


def named_key(key, name):
    return jax.random.fold_in(key, hash(name) & 0x7FFFFFFF)


def init(key, sizes):
    params = {}
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        k = named_key(key, f"dense_{i}/kernel")
        params[f"dense_{i}"] = {"w": jax.random.normal(k, (a, b)) / jnp.sqrt(a), "b": jnp.zeros(b)}
    return params


def forward(params, x):
    n = len(params)
    for i in range(n):
        p = params[f"dense_{i}"]
        x = x @ p["w"] + p["b"]
        if i < n - 1:
            x = jnp.tanh(x)
    return x[:, 0]


def loss_fn(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


@jax.jit
def step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), loss


kx, kp = jax.random.split(root)
x = jax.random.normal(kx, (256, 8))
y = jnp.sin(x[:, 0]) + 0.5 * x[:, 1]
params = init(kp, [8, 32, 32, 1])
for i in range(100):
    params, loss = step(params, x, y)
print("final loss", float(loss))
