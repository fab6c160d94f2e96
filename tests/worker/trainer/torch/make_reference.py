#!/usr/bin/env python3
"""Writes what PyTorch's Python computes for the trainer's networks, as small JSON files.

    make_reference.py FOLDER

For each case: the loss of the first step, and for each weight its gradient in the first step and
its value after the case's steps: norm, sum, and 64 sampled elements (4 of cases that the trainer
computes in float64, too). In float64, from float32 weights and images that a formula gives (see
`numbers`), so that they are the same everywhere.
"""
import json
import pathlib
import sys

import numpy
import torch
from reference_models import make_model, weights_and_buffers

SAMPLES = 64
SAMPLES_OF_FLOAT64 = 4
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


def in_float64(model, side, channels=3, **more):
    """One step of two images: what is left of them keeps some pixels for batch norm."""
    optimizer = dict(name="sgd", learning_rate=0.01, weight_decay=0.0005)
    return dict(case=f"{more.pop('case', model)}_float64", type="float64", model=model,
                batch_norm=more.pop("batch_norm", True), channels=channels, side=side,
                batch=more.pop("batch", 2), optimizer=optimizer, steps=1, **more)


CASES += [
    in_float64("small_cnn", 32, batch_norm=False), in_float64("small_cnn", 28, 1, case="small_bn"),
    in_float64("medium_cnn", 32), in_float64("mlp", 28, 1, hidden=16), in_float64("resnet18", 32),
    in_float64("kernel_cnn", 64, case="kernel1", kernel=1),
    in_float64("kernel_cnn", 64, case="kernel3", kernel=3),
    in_float64("kernel_cnn", 32, case="kernel5", kernel=5, batch=8),
    in_float64("kernel_cnn", 28, 1, case="kernel7", kernel=7, batch=8),
    in_float64("lenet", 28, 1), in_float64("resnet9", 32, width=8),
    in_float64("resnet9_whitened", 32, width=8), in_float64("resnet20", 32),
    in_float64("resnet50", 64), in_float64("resnet101", 64), in_float64("resnet152", 64),
    in_float64("vgg16", 32), in_float64("vgg19", 32),
    in_float64("densenet121", 64), in_float64("densenet169", 64), in_float64("densenet201", 64),
    in_float64("inception_v3", 107), in_float64("xception", 64), in_float64("mobilenet", 64),
    in_float64("efficientnet_b0", 64), in_float64("vit", 32),
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


def summary(tensor, case):
    flat = tensor.detach().flatten()
    if case.get("type") == "float64":
        step = max(1, flat.numel() // SAMPLES_OF_FLOAT64)
        samples = [float(f"{v:.12g}") for v in flat[::step][:SAMPLES_OF_FLOAT64].tolist()]
        return dict(norm=flat.norm().item(), sum=flat.sum().item(), samples=samples)
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
    side, channels, batch = case["side"], case["channels"], case.get("batch", BATCH)
    model = make_model(case["model"], channels, side, classes, case["batch_norm"], epsilon,
                       case.get("hidden", 128), case.get("kernel", 3),
                       case.get("width", 64)).double()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = bn_momentum
    with torch.no_grad():
        for name, tensor in weights_and_buffers(model).items():
            tensor.copy_(value_of(name, tuple(tensor.shape)))
    images = numbers("images", batch * channels * side * side).astype(numpy.float32) + 0.5
    images = torch.from_numpy(images.reshape(batch, channels, side, side)).double()
    labels = (torch.arange(batch) * 3) % classes
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=case.get("label_smoothing", 0.0))
    optimizer = make_optimizer(case["optimizer"], model.parameters())
    result = dict(case, batch=batch, gradients={}, after={})
    for step in range(case["steps"]):
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        if step == 0:
            result["loss"] = loss.item()
            for name, parameter in model.named_parameters():
                gradient = parameter.grad if parameter.requires_grad else torch.zeros_like(parameter)
                result["gradients"][name] = summary(gradient, case)
        optimizer.step()
    for name, tensor in weights_and_buffers(model).items():
        result["after"][name] = summary(tensor, case)
    return result


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    for case in CASES:
        text = json.dumps(run(case), indent=None, separators=(",", ":"))
        (folder / f"{case['case']}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
