"""A dense net on three rings of points, with Keras."""

import keras
import numpy as np
from keras import layers

EPOCHS = 3
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


def main():
    x_train, y_train = rings(320, 0)
    x_val, y_val = rings(120, 1)
    x_train, y_train = augment(x_train), np.concatenate([y_train, y_train])

    model = keras.Sequential([
        keras.Input((2,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.1),
        layers.Dense(32, activation="relu"),
        layers.Dense(3, activation="softmax"),
    ])
    model.compile(optimizer=keras.optimizers.Adam(0.01),
                  loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, y_train, batch_size=BATCH_SIZE, epochs=EPOCHS,
              validation_data=(x_val, y_val), verbose=2)
    loss, accuracy = model.evaluate(x_val, y_val, verbose=0)
    print(f"validation loss {loss:.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
