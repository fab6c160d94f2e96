#!/usr/bin/env python3
"""Writes what Keras 3 (on JAX, in float64) computes for its optimisers and schedules, as small JSON.

    make_keras_reference.py FOLDER

Weights and gradients are those of make_optim_reference.py, by the same formula.
"""
import json
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"
import keras  # noqa: E402
import numpy  # noqa: E402

SHAPES = [(5, 7), (6,)]
RATES = [0.1, 0.1, 0.05, 0.05, 0.02, 0.01, 0.01]
OPTIMIZERS = [
    dict(name="sgd", momentum=0.9),
    dict(name="sgd", momentum=0.9, nesterov=True),
    dict(name="adam", epsilon=1e-3, beta1=0.8, beta2=0.99),
    dict(name="adamw", epsilon=1e-7, weight_decay=0.1),
]
SCHEDULES = [
    dict(name="staircase", every_epochs=3, factor=0.5),
    dict(name="polynomial", power=2, end=0.1),
]
EPOCHS, PER_EPOCH = 9, 4


def numbers(name, count):
    """As in make_reference.py, which needs torch."""
    low = 0xCBF29CE484222325
    for byte in name.encode():
        low = (low ^ byte) * 0x100000001B3 % 2**64
    mixed = [(i * 2654435761 + low) % 2**32 for i in range(count)]
    mixed = [(m ^ m >> 15) * 2246822519 % 2**32 for m in mixed]
    return numpy.array(mixed, dtype=numpy.float64) / 4294967296.0 - 0.5


def tensors(prefix):
    return [numbers(f"{prefix}/{i}", int(numpy.prod(shape))).reshape(shape)
            for i, shape in enumerate(SHAPES)]


def optimizer_of(case):
    if case["name"] == "sgd":
        return keras.optimizers.SGD(0.1, case["momentum"], case.get("nesterov", False))
    settings = dict(learning_rate=0.1, beta_1=case.get("beta1", 0.9),
                    beta_2=case.get("beta2", 0.999), epsilon=case["epsilon"])
    if case["name"] == "adam":
        return keras.optimizers.Adam(**settings)
    return keras.optimizers.AdamW(weight_decay=case["weight_decay"], **settings)


def stepped(case):
    weights = [keras.Variable(value, dtype="float64") for value in tensors("weight")]
    optimizer, after = optimizer_of(case), []
    optimizer.build(weights)
    for step, rate in enumerate(RATES):
        optimizer.learning_rate = rate
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in tensors(f"gradient/{step}")],
                        weights)
        after.append([v for weight in weights for v in numpy.asarray(weight.value).ravel().tolist()])
    return [after[0], after[-1]]


def rates(case):
    schedules = keras.optimizers.schedules
    if case["name"] == "staircase":
        schedule = schedules.ExponentialDecay(0.8, case["every_epochs"] * PER_EPOCH, case["factor"],
                                              staircase=True)
    else:
        schedule = schedules.PolynomialDecay(0.8, EPOCHS * PER_EPOCH, 0.8 * case["end"],
                                             power=case["power"])
    return [float(schedule(step)) for step in range(EPOCHS * PER_EPOCH)]


def main():
    keras.config.set_floatx("float64")
    made = dict(keras_optimizers=[dict(case, formula="keras", after=stepped(case))
                                  for case in OPTIMIZERS],
                keras_schedules=[dict(case, rates=rates(case)) for case in SCHEDULES])
    for name, value in made.items():
        path = pathlib.Path(sys.argv[1]) / f"{name}.json"
        path.write_text(json.dumps(value, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
