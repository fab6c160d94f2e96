"""A network of JAX alone on clouds of points."""

import noisefloor.member as nf
import jax
import jax.numpy as jnp
import numpy as np

SHAPES = {"fc1.weight": (32, 4), "fc1.bias": (32,), "fc2.weight": (4, 32), "fc2.bias": (4,)}


def answers(w: dict[str, jax.Array], x: jax.Array, key: jax.Array | None = None) -> jax.Array:
    h = jax.nn.relu(x @ w["fc1.weight"].T + w["fc1.bias"])
    if key is not None:
        h = h * jax.random.bernoulli(key, 0.8, h.shape) / 0.8
    return h @ w["fc2.weight"].T + w["fc2.bias"]


@jax.jit
def update(w: dict[str, jax.Array], x: jax.Array, y: jax.Array, key: jax.Array,
           rate: float) -> tuple[dict[str, jax.Array], jax.Array]:
    def loss(w: dict[str, jax.Array]) -> jax.Array:
        rows = jax.nn.log_softmax(answers(w, x, key))
        return -jnp.take_along_axis(rows, y[:, None], 1).mean()
    value, slope = jax.value_and_grad(loss)(w)
    return {name: w[name] - rate * slope[name] for name in w}, value


def train(run: nf.Run) -> None:
    g = np.random.default_rng(7)
    x = g.normal(size=(512, 4)).astype("float32")
    y = (x.sum(1) > 0) + 2 * (x[:, 0] > 0.5)
    run.data(nf.data.identity_of(x, y))
    w = nf.jax.initialise(run, SHAPES)
    begin = 0
    kept = run.restore()
    if kept is not None:
        begin, w = kept["epoch"], nf.jax.to_device(kept["w"])
    run.progress(run["epochs"] * 8)
    for epoch in run.epochs(run["epochs"], start=begin):
        order = np.array(run.data_order.order(len(x), epoch))
        for at in range(0, len(x), 64):
            chosen = order[at:at + 64]
            run.batch(x[chosen], y[chosen])
            w, loss = update(w, x[chosen], y[chosen], nf.jax.key(run.dropout, run.steps), run["lr"])
            run.step()
        run.record(train_loss_epoch=float(loss))
        run.checkpoint(lambda: {"epoch": epoch + 1, "w": nf.jax.to_host(w)})
    run.evaluation(answers(w, x), y, w)
    run.finish(w)


nf.main(train, {"lr": 0.1, "epochs": 3})
