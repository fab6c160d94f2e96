#!/usr/bin/env python3
"""Writes what PyTorch's Python computes for the trainer's networks, as small JSON files.

    make_reference.py FOLDER

For each case: the loss of the first step, and for each weight its gradient in the first step and
its value after the case's steps: norm, sum, and 64 sampled elements. In float64, from float32
weights and images that a formula gives (see `numbers`), so that they are the same everywhere.
"""
import json
import pathlib
import sys

import numpy
import torch
from reference_models import make_model, weights_and_buffers

SAMPLES = 64
BATCH = 8
CASES = [
    dict(case="small_cnn_sgd", model="small_cnn", batch_norm=False, channels=3, side=32,
         optimizer=dict(name="sgd", learning_rate=0.1), steps=1),
    dict(case="small_cnn_bn_nesterov", model="small_cnn", batch_norm=True, channels=1, side=28,
         optimizer=dict(name="sgd", learning_rate=0.05, momentum=0.9, nesterov=True,
                        weight_decay=0.01), steps=2),
    dict(case="medium_cnn_momentum", model="medium_cnn", batch_norm=False, channels=3, side=32,
         optimizer=dict(name="sgd", learning_rate=0.05, momentum=0.9), steps=2),
    dict(case="mlp_adam", model="mlp", batch_norm=False, channels=1, side=28, hidden=16,
         label_smoothing=0.1,
         optimizer=dict(name="adam", learning_rate=0.01, weight_decay=0.001, epsilon=1e-4),
         steps=2),
    dict(case="resnet18_sgd", model="resnet18", batch_norm=True, channels=3, side=32,
         optimizer=dict(name="sgd", learning_rate=0.01, weight_decay=0.0005), steps=1),
]


def fnv1a(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def numbers(name, count):
    """Element i: m / 2^32 - 1/2, with m mixed from i and the name; all integers modulo 2^32:
    m = i * 2654435761 + low half of FNV-1a of the name; m = (m xor m / 2^15) * 2246822519.
    """
    i = numpy.arange(count, dtype=numpy.uint64)
    low = numpy.uint64(fnv1a(name) & 0xFFFFFFFF)
    mixed = (i * numpy.uint64(2654435761) + low) & numpy.uint64(0xFFFFFFFF)
    mixed = (mixed ^ (mixed >> numpy.uint64(15))) * numpy.uint64(2246822519)
    mixed &= numpy.uint64(0xFFFFFFFF)
    return mixed.astype(numpy.float64) / 4294967296.0 - 0.5


def value_of(name, shape):
    count = int(numpy.prod(shape))
    values = numbers(name, count)
    if len(shape) > 1:
        values = values * (4.0 / numpy.sqrt(float(count // shape[0])))
    elif name.endswith(".weight") or name.endswith("running_var"):
        values = 1.0 + 0.2 * values
    else:
        values = 0.2 * values
    return torch.from_numpy(values.astype(numpy.float32).reshape(shape)).double()


def summary(tensor):
    flat = tensor.detach().flatten()
    step = max(1, flat.numel() // SAMPLES)
    picked = flat[::step][:SAMPLES]
    return dict(norm=flat.norm().item(), sum=flat.sum().item(),
                samples=[float(f"{v:.9g}") for v in picked.tolist()])


def make_optimizer(settings, parameters):
    if settings["name"] == "adam":
        return torch.optim.Adam(parameters, lr=settings["learning_rate"],
                                eps=settings["epsilon"], weight_decay=settings["weight_decay"])
    return torch.optim.SGD(parameters, lr=settings["learning_rate"],
                           momentum=settings.get("momentum", 0.0),
                           nesterov=settings.get("nesterov", False),
                           weight_decay=settings.get("weight_decay", 0.0))


def run(case):
    epsilon, classes, bn_momentum = 1e-3, 10, 0.01
    side, channels = case["side"], case["channels"]
    model = make_model(case["model"], channels, side, classes, case["batch_norm"], epsilon,
                       case.get("hidden", 128)).double()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = bn_momentum
    with torch.no_grad():
        for name, tensor in weights_and_buffers(model).items():
            tensor.copy_(value_of(name, tuple(tensor.shape)))
    images = numbers("images", BATCH * channels * side * side).astype(numpy.float32) + 0.5
    images = torch.from_numpy(images.reshape(BATCH, channels, side, side)).double()
    labels = (torch.arange(BATCH) * 3) % classes
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=case.get("label_smoothing", 0.0))
    optimizer = make_optimizer(case["optimizer"], model.parameters())
    result = dict(case, batch=BATCH, gradients={}, after={})
    for step in range(case["steps"]):
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        if step == 0:
            result["loss"] = loss.item()
            for name, parameter in model.named_parameters():
                result["gradients"][name] = summary(parameter.grad)
        optimizer.step()
    for name, tensor in weights_and_buffers(model).items():
        result["after"][name] = summary(tensor)
    return result


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    for case in CASES:
        text = json.dumps(run(case), indent=None, separators=(",", ":"))
        (folder / f"{case['case']}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
