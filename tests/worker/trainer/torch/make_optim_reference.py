#!/usr/bin/env python3
"""Writes what PyTorch's Python computes for optimisers, schedules, precisions, clipping, averages
and loss scales, as small JSON files; with --bits also float32 values that must be equal bit for bit.

    make_optim_reference.py FOLDER
    make_optim_reference.py --bits FILE

Weights, gradients and images are numbers of a formula (make_reference.py). In float64, but for the
low precisions, which are torch.autocast's.
"""
import json
import pathlib
import sys

import numpy
import torch
from make_reference import numbers, value_of
from reference_models import make_model, weights_and_buffers

SHAPES = [(5, 7), (6,)]
RATES = [0.1, 0.1, 0.05, 0.05, 0.02, 0.01, 0.01]
OPTIMIZERS = [
    dict(name="sgd", momentum=0.9, weight_decay=0.01),
    dict(name="sgd", momentum=0.9, nesterov=True, weight_decay=0.01, decayed="matrices"),
    dict(name="adam", epsilon=1e-3, weight_decay=0.02, beta1=0.8, beta2=0.99),
    dict(name="adamw", epsilon=1e-7, weight_decay=0.1),
    dict(name="adamw", epsilon=1e-7, weight_decay=0.1, decayed="matrices"),
    dict(name="sgd", momentum=0.9, clip_norm=1.8),
    dict(name="adam", epsilon=1e-7, average_decay=0.75),
    dict(name="sgd", momentum=0.9, nesterov=True, weight_decay=0.01, bias_rate=16.0),
    dict(name="adamw", epsilon=1e-7, weight_decay=0.1, decayed="matrices", bias_rate=0.5),
]
SCHEDULES = [
    dict(name="step", milestones=[2, 5], factor=0.3),
    dict(name="staircase", every_epochs=3, factor=0.5),
    dict(name="cosine"),
    dict(name="polynomial", power=2),
    dict(name="triangular", start=0.2, peak=0.23, end=0.07),
    dict(name="list", milestones=[1, 4], factors="1 0.3 2.5"),
]
EPOCHS, PER_EPOCH = 9, 4


def tensors(prefix):
    return [torch.from_numpy(numbers(f"{prefix}/{i}", int(numpy.prod(shape))).reshape(shape).copy())
            for i, shape in enumerate(SHAPES)]


def optimizer_of(case, weights):
    decay = case.get("weight_decay", 0.0)
    matrices = case.get("decayed") == "matrices"
    groups = [dict(params=[w], weight_decay=decay if not matrices or w.dim() > 1 else 0.0)
              for w in weights]
    if case["name"] == "sgd":
        return torch.optim.SGD(groups, lr=0.1, momentum=case["momentum"], foreach=False,
                               nesterov=case.get("nesterov", False))
    made = dict(adam=torch.optim.Adam, adamw=torch.optim.AdamW)[case["name"]]
    return made(groups, lr=0.1, eps=case["epsilon"], foreach=False,
                betas=(case.get("beta1", 0.9), case.get("beta2", 0.999)))


def stepped(case):
    """The weights, or their average, after the first and the last step: all elements in order."""
    module = torch.nn.ParameterList([torch.nn.Parameter(w) for w in tensors("weight")])
    optimizer, average, after = optimizer_of(case, list(module)), None, []
    if "average_decay" in case:
        average = torch.optim.swa_utils.AveragedModel(
            module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(case["average_decay"]))
    for step, rate in enumerate(RATES):
        for weight, gradient in zip(module, tensors(f"gradient/{step}")):
            weight.grad = gradient
        if "clip_norm" in case:
            torch.nn.utils.clip_grad_norm_(list(module), case["clip_norm"], foreach=False)
        for group in optimizer.param_groups:
            bias = group["params"][0].dim() == 1
            group["lr"] = rate * (case.get("bias_rate", 1.0) if bias else 1.0)
        optimizer.step()
        if average is not None:
            average.update_parameters(module)
        shown = module if average is None else average.module
        after.append([v for weight in shown for v in weight.detach().flatten().tolist()])
    return [after[0], after[-1]]


def triangle(case, total):
    """airbench94's, by numpy's interpolation."""
    return numpy.interp(numpy.arange(total), [0, int(case["peak"] * total), total],
                        [case["start"], 1, case["end"]]).tolist()


def rates(case):
    """0.8 times what PyTorch's schedulers say of each step."""
    total, by_epoch = EPOCHS * PER_EPOCH, case["name"] in ("step", "staircase", "list")
    if case["name"] == "triangular":
        return [0.8 * share for share in triangle(case, total)]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.8)
    schedulers = torch.optim.lr_scheduler
    if case["name"] == "step":
        scheduler = schedulers.MultiStepLR(optimizer, case["milestones"], case["factor"])
    elif case["name"] == "staircase":
        scheduler = schedulers.StepLR(optimizer, case["every_epochs"], case["factor"])
    elif case["name"] == "cosine":
        scheduler = schedulers.CosineAnnealingLR(optimizer, total)
    elif case["name"] == "polynomial":
        scheduler = schedulers.PolynomialLR(optimizer, total, case["power"])
    else:
        factors = [float(factor) for factor in case["factors"].split()]
        scheduler = schedulers.LambdaLR(
            optimizer, lambda e: factors[sum(e >= m for m in case["milestones"])])
    found = []
    for _ in range(EPOCHS if by_epoch else total):
        found += [optimizer.param_groups[0]["lr"]] * (PER_EPOCH if by_epoch else 1)
        optimizer.step()
        scheduler.step()
    return found


def scaled():
    """Scales of a GradScaler and weights after each step; gradients of steps 1, 2 and 6 overflow."""
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    rows = []
    for step in range(9):
        scale = scaler.scale(torch.ones(())).item()
        gradient = torch.from_numpy(numbers(f"scaled/{step}", 3)).float() * scale
        weight.grad = gradient * (float("inf") if step in (1, 2, 6) else 1.0)
        scaler.step(optimizer)
        scaler.update()
        rows.append(dict(scale=scale, weights=weight.detach().tolist()))
    return rows


NETWORKS = [
    dict(model="small_cnn", batch_norm=True, channels=1, side=28,
         optimizer=dict(name="sgd", momentum=0.9, weight_decay=0.01), learning_rate=0.05),
    dict(model="mlp", batch_norm=False, channels=1, side=28, hidden=16,
         optimizer=dict(name="adamw", epsilon=1e-4, weight_decay=0.1), learning_rate=0.01),
    # What its blocks add to stays in 32 bits: the positions are no layer's answer.
    dict(model="vit", batch_norm=False, channels=3, side=16,
         optimizer=dict(name="sgd", momentum=0.9), learning_rate=0.01),
]
BATCH, STEPS = 8, 2


def attention(q, k, v):
    """Operation by operation: what is fused rounds elsewhere in 16 bits."""
    shares = torch.softmax((q * q.shape[-1]**-0.5) @ k.transpose(-2, -1), dim=-1)
    return shares @ v


torch.nn.functional.scaled_dot_product_attention = attention


def network(case, kind):
    """Loss and gradients of the first step, and all weights after two: float64 or an autocast's."""
    side, channels, weights_are = case["side"], case["channels"], torch.float32
    if kind == torch.float64:
        weights_are = torch.float64
    model = make_model(case["model"], channels, side, 10, case["batch_norm"], 1e-3,
                       case.get("hidden", 128)).to(weights_are)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 0.01
    with torch.no_grad():
        for name, tensor in weights_and_buffers(model).items():
            tensor.copy_(value_of(name, tuple(tensor.shape)))
    model.to(memory_format=torch.channels_last)
    images = numbers("images", BATCH * channels * side * side).astype(numpy.float32) + 0.5
    images = torch.from_numpy(images.reshape(BATCH, channels, side, side)).to(weights_are)
    rows = torch.empty((BATCH, side, side, channels), dtype=weights_are).permute(0, 3, 1, 2)
    images = rows.copy_(images)
    labels = (torch.arange(BATCH) * 3) % 10
    optimizer = optimizer_of(case["optimizer"], list(model.parameters()))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=kind == torch.float16)
    found = dict(gradients={})
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=kind if kind != torch.float64 else torch.bfloat16,
                            enabled=kind != torch.float64, cache_enabled=False):
            logits = model(images)
        loss = torch.nn.functional.cross_entropy(logits.to(weights_are), labels, reduction="sum")
        scaler.scale(loss / BATCH).backward()
        scaler.unscale_(optimizer)
        if step == 0:
            found["loss"] = loss.item() / BATCH
            found["gradients"] = {n: p.grad.clone() for n, p in model.named_parameters()}
        for group in optimizer.param_groups:
            group["lr"] = case["learning_rate"]
        scaler.step(optimizer)
        scaler.update()
    found["after"] = {n: t.detach() for n, t in weights_and_buffers(model).items()}
    return found


def summary(tensor):
    flat = tensor.flatten().double()
    return dict(norm=flat.norm().item(), samples=flat[::max(1, flat.numel() // 6)][:6].tolist())


def networks():
    found = []
    for case in NETWORKS:
        for name, kind in (("fp64", torch.float64), ("bf16", torch.bfloat16),
                           ("fp16", torch.float16)):
            one = network(case, kind)
            found.append(dict(case, precision=name, loss=one["loss"], **{
                part: {n: summary(t) for n, t in one[part].items()}
                for part in ("gradients", "after")}))
    return found


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "--bits":
        made = []
        for case in NETWORKS:
            one = network(case, torch.bfloat16)
            made.append({name: tensor.contiguous().view(torch.int32).flatten().tolist()
                         for name, tensor in one["gradients"].items()})
        pathlib.Path(sys.argv[2]).write_text(json.dumps(made))
        return
    folder = pathlib.Path(sys.argv[1])
    made = dict(optimizers=[dict(case, after=stepped(case)) for case in OPTIMIZERS],
                schedules=[dict(case, rates=rates(case)) for case in SCHEDULES],
                loss_scale=scaled(), networks=networks())
    for name, value in made.items():
        (folder / f"{name}.json").write_text(json.dumps(value, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
