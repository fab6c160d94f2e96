#!/usr/bin/env python3
"""Times the trainer's step beside what a user would write in Python, in turn, and prints JSON.

    train_bench.py --step-bench=build/release/bin/noisefloor-step-bench [--python=PYTHON]
                   [--rounds=N] [--steps=N] [--threads=N]

PYTHON is one that has torch (default: this one). Each round runs every variant once, so that a busy
machine slows all alike; ratios are medians over the rounds of images per second against Python's
eager NCHW. The load and the share of the processor that each variant got are in the output: throw
away what was measured on a busy machine.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys

CASES = [("small_cnn", 3, 32), ("small_cnn_bn", 3, 32), ("small_cnn_bn", 1, 28)]

PYTHON_SIDE = """
import json, sys, time, torch
from torch import nn
name, channels, side, steps, threads, last = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
layers, fan_in = [], channels
for out in (16, 32, 32):
    layers.append(nn.Conv2d(fan_in, out, 3, padding=1))
    if name == "small_cnn_bn":
        layers.append(nn.BatchNorm2d(out))
    layers += [nn.ReLU(), nn.MaxPool2d(2)]
    fan_in = out
layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)]
model, images = nn.Sequential(*layers), torch.rand(128, channels, side, side)
if last:
    model, images = (x.to(memory_format=torch.channels_last) for x in (model, images))
labels, loss_of = torch.arange(128) % 10, nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
def step():
    optimizer.zero_grad()
    loss_of(model(images), labels).backward()
    optimizer.step()
for _ in range(5):
    step()
start = time.perf_counter()
for _ in range(steps):
    step()
print(json.dumps(dict(images_per_second=128 * steps / (time.perf_counter() - start))))
"""


def measure(command):
    """Images per second, and processor seconds used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = json.loads(subprocess.check_output(command, text=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return said["images_per_second"], used


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step-bench", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    for name, channels, side in CASES:
        sizes = [str(channels), str(side)]
        python = [a.python, "-c", PYTHON_SIDE, name, *sizes, str(a.steps), str(a.threads)]
        ours = [a.step_bench, name, "128", str(a.steps), str(a.threads), "1", *sizes]
        variants = {"python_nchw": python + ["0"], "python_channels_last": python + ["1"],
                    "noisefloor": ours}
        rounds = [{key: measure(command) for key, command in variants.items()}
                  for _ in range(a.rounds)]
        report = dict(model=name, channels=channels, side=side, threads=a.threads,
                      rounds=a.rounds, load=os.getloadavg()[0])
        for key in variants:
            rates = [one[key][0] for one in rounds]
            ratios = [one[key][0] / one["python_nchw"][0] for one in rounds]
            report[key] = dict(images_per_second=round(statistics.median(rates)),
                               times_python_nchw=round(statistics.median(ratios), 2),
                               cpu_seconds=round(statistics.median(o[key][1] for o in rounds), 2))
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
