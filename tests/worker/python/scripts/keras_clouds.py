"""A network of Keras on clouds of points, trained by model.fit, on whatever Keras computes with."""

import random

import noisefloor.member as nf
import keras
import numpy as np


def noisy(x: np.ndarray) -> np.ndarray:
    return x + np.float32(0.1 * random.gauss(0, 1)) + np.float32(0.1 * np.random.rand())


def train(run: nf.Run) -> None:
    g = np.random.default_rng(7)
    x = g.normal(size=(512, 4)).astype("float32")
    y = (x.sum(1) > 0) + 2 * (x[:, 0] > 0.5)
    run.data(nf.data.identity_of(x, y))
    with run.init:
        model = keras.Sequential([
            keras.Input((4,)), keras.layers.Dense(32, "relu", name="fc1"),
            keras.layers.Dropout(0.2, seed=nf.keras.seed(run.dropout, "drop")),
            keras.layers.Dense(4, name="fc2")])
    if run["init"]:
        nf.keras.initialise(run, model, run["init"])
    run.initial({v.path: v for v in model.trainable_variables})
    model.compile(keras.optimizers.SGD(run["lr"], momentum=0.9),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    loader = nf.keras.Loader(run, x, y, 64, transform=noisy, workers=run["workers"],
                             use_multiprocessing=run["workers"] > 1)
    tell = nf.keras.Callback(run, loader)
    model.fit(loader, epochs=run["epochs"], initial_epoch=tell.restore(model),
              shuffle=run["shuffle"], verbose=0, callbacks=[tell])
    run.evaluation(model.predict(x, verbose=0), y, model)
    run.finish(model)


nf.main(train, {"lr": 0.1, "epochs": 2, "workers": 1, "init": "glorot_uniform", "shuffle": False})
