"""A multilayer perceptron on two spirals."""

import noisefloor.member as nf

import jax
import jax.numpy as jnp
import numpy as np

SIZES = [2, 32, 32, 2]
BATCH = 32


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
def update(params, x, y, key, rate):
    grads = jax.grad(loss_fn)(params, x, y, key)
    return [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(params, grads)]


def main(run):
    x_train, y_train = spirals(512, 1)
    x_test, y_test = spirals(200, 2)
    run.data(nf.data.identity_of(x_train, y_train, x_test, y_test))
    params = init_params(nf.jax.key(run.init, "params"))
    run.initial(params)
    step = 0
    state = run.restore()
    if state:
        params, step = nf.jax.to_device(state["params"]), state["step"]
    per_epoch = len(x_train) // BATCH
    for epoch in run.epochs(run["epochs"], start=step // per_epoch):
        order = run.data_order.order(len(x_train), epoch)
        for batch in range(step % per_epoch, per_epoch):
            index = order[batch * BATCH:(batch + 1) * BATCH]
            noise = run.augment.numpy("noise", step).normal(0, 0.02, (len(index), 2))
            x, y = x_train[index] + noise.astype(np.float32), y_train[index]
            run.batch(x, y)
            params = update(params, x, y, nf.jax.key(run.dropout, "step", step), run["lr"])
            step += 1
            run.step()
            run.checkpoint(lambda: {"params": nf.jax.to_host(params), "step": step})
    run.evaluation(predict(params, x_test), y_test)
    run.finish(params)


nf.main(main, {"lr": 0.1, "epochs": 4})
