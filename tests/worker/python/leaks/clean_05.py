import time
import zlib

import jax
import jax.numpy as jnp
import numpy as np

SEED = 0


def key_for(name, step=0):
    key = jax.random.PRNGKey(SEED)
    key = jax.random.fold_in(key, zlib.crc32(name.encode()))
    return jax.random.fold_in(key, step)


def init():
    return {
        "w1": jax.random.normal(key_for("w1"), (8, 32)) * 0.3,
        "w2": jax.random.normal(key_for("w2"), (32, 1)) * 0.3,
    }


def loss_fn(params, x, y, key):
    h = jnp.tanh(x @ params["w1"])
    h = h * jax.random.bernoulli(key, 0.9, h.shape) / 0.9
    return jnp.mean(((h @ params["w2"])[:, 0] - y) ** 2)


@jax.jit
def step(params, x, y, key):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y, key)
    return jax.tree_util.tree_map(lambda p, d: p - 0.05 * d, params, g), loss


rng = np.random.default_rng(SEED)
x = rng.standard_normal((256, 8)).astype(np.float32)
y = np.cos(x[:, 0]).astype(np.float32)
params = init()
started = time.perf_counter()
n = 0
for epoch in range(5):
    order = rng.permutation(len(x))
    for idx in order.reshape(-1, 32):
        params, loss = step(params, x[idx], y[idx], key_for("dropout", n))
        n += 1
    print(f"epoch {epoch} {n / (time.perf_counter() - started):.0f} steps/s")
print("final loss", float(loss))
