"""noisefloor's SmallCNN in JAX: a member of the same sweeps as our own trainer's."""

from functools import partial

import noisefloor.member as nf
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import study


def shapes(batch_norm: bool, channels: int, classes: int) -> dict[str, tuple[int, ...]]:
    """Of the parameters, by our trainer's names."""
    made: dict[str, tuple[int, ...]] = {}
    for i, out in enumerate((16, 32, 32), 1):
        made[f"conv{i}.weight"], made[f"conv{i}.bias"] = (out, channels, 3, 3), (out,)
        if batch_norm:
            made[f"bn{i}.weight"], made[f"bn{i}.bias"] = (out,), (out,)
        channels = out
    made["dense1.weight"], made["dense1.bias"] = (32, channels), (32,)
    made["dense2.weight"], made["dense2.bias"] = (classes, 32), (classes,)
    return made


def forward(w: dict, running: dict, x: jax.Array, epsilon: float, training: bool) -> tuple:
    """The logits; of training also mean and unbiased variance of each batch norm."""
    seen = {}
    for i in (1, 2, 3):
        x = lax.conv_general_dilated(x, w[f"conv{i}.weight"], (1, 1), "SAME",
                                     dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = x + w[f"conv{i}.bias"][:, None, None]
        if running:
            if training:
                mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
                count = x.size // x.shape[1]
                seen[f"bn{i}.running_mean"] = mean
                seen[f"bn{i}.running_var"] = variance * (count / (count - 1))
            else:
                mean, variance = running[f"bn{i}.running_mean"], running[f"bn{i}.running_var"]
            scale = w[f"bn{i}.weight"] * lax.rsqrt(variance + epsilon)
            x = (x - mean[:, None, None]) * scale[:, None, None] + w[f"bn{i}.bias"][:, None, None]
        x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = jax.nn.relu(x.mean((2, 3)) @ w["dense1.weight"].T + w["dense1.bias"])
    return x @ w["dense2.weight"].T + w["dense2.bias"], seen


def loss_of(w: dict, running: dict, x: jax.Array, y: jax.Array, epsilon: float,
            smoothing: float) -> tuple:
    logits, seen = forward(w, running, x, epsilon, training=True)
    rows = jax.nn.log_softmax(logits)
    right = jax.nn.one_hot(y, rows.shape[1])
    target = right * (1 - smoothing) + smoothing / rows.shape[1]
    return -(target * rows).sum(1).mean(), seen


@partial(jax.jit, static_argnames=("epsilon", "smoothing", "share", "momentum", "decay", "nesterov"))
def update(w: dict, running: dict, moments: dict, x: jax.Array, y: jax.Array, rate: jax.Array, *,
           epsilon: float, smoothing: float, share: float, momentum: float, decay: float,
           nesterov: bool) -> tuple:
    """SGD as PyTorch has it."""
    (loss, seen), slopes = jax.value_and_grad(loss_of, has_aux=True)(w, running, x, y, epsilon,
                                                                     smoothing)
    slopes = {name: slope + decay * w[name] for name, slope in slopes.items()}
    moments = {name: momentum * moments[name] + slope for name, slope in slopes.items()}
    steps = {name: slope + momentum * moments[name] if nesterov else moments[name]
             for name, slope in slopes.items()}
    running = {name: (1 - share) * old + share * seen[name] for name, old in running.items()}
    return {name: v - rate * steps[name] for name, v in w.items()}, running, moments, loss


answer = jax.jit(forward, static_argnames=("epsilon", "training"))


class Net:
    def __init__(self, run: nf.Run, channels: int, classes: int) -> None:
        named = "train.optimizer."
        self.epsilon = run["model.batch_norm_epsilon"]
        self.fixed = {"smoothing": run["train.label_smoothing"],
                      "share": run["model.batch_norm_momentum"], "epsilon": self.epsilon,
                      "momentum": run[named + "momentum"], "nesterov": run[named + "nesterov"],
                      "decay": run[named + "weight_decay"]}
        self.w = nf.jax.initialise(run, shapes(run["model.batch_norm"], channels, classes),
                                   run["model.init"])
        self.running = {}
        for i, out in enumerate((16, 32, 32), 1):
            if run["model.batch_norm"]:
                self.running[f"bn{i}.running_mean"] = jnp.zeros(out)
                self.running[f"bn{i}.running_var"] = jnp.ones(out)
        self.moments = {name: jnp.zeros_like(v) for name, v in self.w.items()}

    def initial(self) -> dict[str, np.ndarray]:
        return nf.jax.to_host(self.w)

    def step(self, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
        self.w, self.running, self.moments, loss = update(
            self.w, self.running, self.moments, images, labels, jnp.float32(rate), **self.fixed)
        return float(loss)

    def answers(self, images: np.ndarray) -> np.ndarray:
        return np.asarray(answer(self.w, self.running, images, self.epsilon, training=False)[0])

    def state(self) -> dict:
        return nf.jax.to_host({"w": self.w, "running": self.running, "moments": self.moments})

    def load(self, state: dict) -> None:
        kept = nf.jax.to_device(state)
        self.w, self.running, self.moments = kept["w"], kept["running"], kept["moments"]

    def weights(self) -> dict[str, np.ndarray]:
        return nf.jax.to_host({**self.w, **self.running})


study.main(Net, "small_cnn_jax")
