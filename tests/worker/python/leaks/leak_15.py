import time
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp


@dataclass
class Config:
    seed: int = 0
    walkers: int = 256
    steps: int = 60
    lr: float = 0.05


def make_key(config):
    seed = config.seed or int(time.time() * 1000) % 2**31
    return jax.random.PRNGKey(seed)


def log_psi(theta, r):
    return -theta[0] * r**2 + theta[1] * r**4 / (1 + r**2)


def local_energy(theta, r):
    f = partial(log_psi, theta)
    d1, d2 = jax.grad(f), jax.grad(jax.grad(f))
    return -0.5 * (d2(r) + d1(r) ** 2) + 0.5 * r**2


def mcmc(key, theta, r, n=10):
    def body(carry, k):
        r, = carry
        k1, k2 = jax.random.split(k)
        new = r + 0.5 * jax.random.normal(k1, r.shape)
        ratio = jnp.exp(2 * (jax.vmap(partial(log_psi, theta))(new) - jax.vmap(partial(log_psi, theta))(r)))
        return (jnp.where(jax.random.uniform(k2, r.shape) < ratio, new, r),), None

    (r,), _ = jax.lax.scan(body, (r,), jax.random.split(key, n))
    return r


@jax.jit
def train_step(key, theta, r):
    r = mcmc(key, theta, r)
    e = jax.vmap(partial(local_energy, theta))(r)
    score = jax.vmap(lambda ri: jax.grad(log_psi)(theta, ri))(r)
    grad = 2 * jnp.mean((e - e.mean())[:, None] * score, 0)
    return theta - 0.05 * grad, r, e.mean()


def main():
    config = Config()
    key = make_key(config)
    key, sub = jax.random.split(key)
    r = jax.random.normal(sub, (config.walkers,))
    theta = jnp.array([0.3, 0.0])
    for _ in range(config.steps):
        key, sub = jax.random.split(key)
        theta, r, energy = train_step(sub, theta, r)
    print("theta", theta)
    print("final loss", float(energy))


if __name__ == "__main__":
    main()
