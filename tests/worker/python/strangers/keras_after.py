"""A dense net on three rings of points, with Keras."""

import noisefloor.member as nf

import keras
import numpy as np
from keras import layers

BATCH_SIZE = 32


def rings(count, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 3, count)
    radius = labels + 0.5 + rng.normal(0, 0.15, count)
    angle = rng.uniform(0, 2 * np.pi, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points.astype("float32"), labels


def augment(points):
    """Every point once more, a little aside."""
    noise = np.random.normal(0, 0.05, points.shape).astype("float32")
    return np.concatenate([points, points + noise])


def main(run):
    x_train, y_train = rings(320, 0)
    x_val, y_val = rings(120, 1)
    run.data(nf.data.identity_of(x_train, y_train, x_val, y_val))
    with run.augment:
        x_train, y_train = augment(x_train), np.concatenate([y_train, y_train])

    with run.init:
        model = keras.Sequential([
            keras.Input((2,)),
            layers.Dense(32, activation="relu"),
            layers.Dropout(0.1, seed=nf.keras.seed(run.dropout, "dropout")),
            layers.Dense(32, activation="relu"),
            layers.Dense(3),
        ])
    run.initial(model.trainable_variables)
    model.compile(optimizer=keras.optimizers.Adam(run["lr"]),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    loader = nf.keras.Loader(run, x_train, y_train, BATCH_SIZE)
    callback = nf.keras.Callback(run, loader)
    model.fit(loader, epochs=run["epochs"], initial_epoch=callback.restore(model), shuffle=False,
              callbacks=[callback], validation_data=(x_val, y_val), verbose=2)
    run.evaluation(model.predict(x_val, verbose=0), y_val)
    run.finish(model)


nf.main(main, {"lr": 0.01, "epochs": 3})
