#!/usr/bin/env python3
"""Times steps (or evaluations) of the trainer beside Python's and beside other builds of its own.

    train_bench.py --step-bench=build/release/bin/noisefloor-step-bench [--other=NAME=STEP_BENCH ...]
                   [--python=PYTHON] [--layouts=nchw,channels_last] [--case=MODEL:IMAGES:FEED ...]
                   [--precision=LIST] [--class=CLASS] [--what=train|evaluate] [--threads=N] [--shards=N] [--cores=LIST]
                   [--device=cuda]

All variants of a case are started at once and then measured in turn, a second each, round after
round, so that a busy machine slows all alike. Ratios are medians over the rounds against the first
variant. See README.md beside this file.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ["small_cnn:cifar10:fixed", "small_cnn_bn:cifar10:fixed", "small_cnn:fashion-mnist:fixed",
         "small_cnn_bn:fashion-mnist:fixed", "small_cnn_bn:cifar10:augment", "mlp:cifar10:fixed",
         "mlp:cifar10:augment", "medium_cnn:cifar10:fixed", "resnet18:cifar10:fixed"]
CLASS = re.compile(r"cpu-(intel|amd|other)-(sse|avx2|avx512)")


def class_variables(step_bench, name):
    """What the class sets, as the program itself, which starts itself anew with it, then has it."""
    process = subprocess.Popen([step_bench, f"--class={name}"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    process.stdin.write("train 0\n")
    process.stdin.flush()
    process.stdout.readline()
    with open(f"/proc/{process.pid}/environ", encoding="utf-8", errors="replace") as file:
        pairs = dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)
    process.stdin.close()
    process.wait()
    names = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR")
    return {key: pairs[key] for key in names}


class Variant:
    def __init__(self, name, command, variables, cores):
        self.name, self.samples, self.count = name, [], 1
        pinned = ["taskset", "-c", cores] if cores else []
        self.process = subprocess.Popen(pinned + command, env={**os.environ, **variables},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def warm_up(self, what, seconds):
        self.run(what, 2)
        self.count = max(1, round(seconds / max(1e-6, self.run(what, 1)["wall"])))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def variants_of(args, case, variables):
    model, images, feed = case.split(":")
    which = [f"--model={model}", f"--images={images}", f"--feed={feed}", f"--threads={args.threads}",
             f"--batch={64 if model == 'resnet18' else 128}"]
    if args.device != "cpu":                   # Builds from before know no other.
        which.append(f"--device={args.device}")
    found = {}
    if args.python:
        for layout in args.layouts.split(","):
            found[f"python_{layout}"] = [args.python, f"{HERE}/python_steps.py", *which,
                                         f"--layout={layout}"]
    for other in args.other:
        name, program = other.split("=", 1)
        found[name] = [program, *which]
    for precision in args.precision.split(","):
        name = "noisefloor" if precision == "fp32" else f"noisefloor_{precision}"
        found[name] = [args.step_bench, *which, f"--precision={precision}"]
    for name, command in found.items():
        if not name.startswith("python_"):
            command += [f"--shards={args.shards}"] + ([f"--class={args.cls}"] if args.cls else [])
    return [Variant(name, command, variables, args.cores) for name, command in found.items()]


def report_of(args, case, variants):
    base = variants[0]
    report = dict(case=case, what=args.what, device=args.device, cls=args.cls, threads=args.threads,
                  shards=args.shards, rounds=args.rounds, load=os.getloadavg()[0])
    for variant in variants:
        def each(key):
            return [1e3 * sample[key] / variant.count for sample in variant.samples]

        def times(key):
            ratios = [(a[key] / base.count) / max(1e-9, b[key] / variant.count)
                      for a, b in zip(base.samples, variant.samples)]
            return round(statistics.median(ratios), 2)
        walls = each("wall")
        low, _, high = statistics.quantiles(walls, n=4) if len(walls) > 1 else walls * 3
        report[variant.name] = dict(
            ms=round(statistics.median(walls), 2), quartiles=[round(low, 2), round(high, 2)],
            cpu_ms=round(statistics.median(each("cpu")), 2), times_first=times("wall"),
            times_first_by_cpu=times("cpu"),
            cpu_share=round(statistics.median(s["cpu"] / s["wall"] for s in variant.samples), 2))
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step-bench", required=True)
    parser.add_argument("--other", action="append", default=[], metavar="NAME=STEP_BENCH")
    parser.add_argument("--python", default="", help="a Python with torch; without: none")
    parser.add_argument("--layouts", default="nchw,channels_last")
    parser.add_argument("--case", action="append", metavar="MODEL:IMAGES:FEED")
    parser.add_argument("--class", dest="cls", default="")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", default="fp32", metavar="LIST",
                        help="of this build: fp32,bf16,fp16,fp64")
    parser.add_argument("--what", choices=("train", "evaluate"), default="train")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each sample")
    parser.add_argument("--cores", default="", help="as taskset takes them; default: all")
    args = parser.parse_args()
    if args.cls and not CLASS.fullmatch(args.cls):
        parser.error(f"--class={args.cls} is not a class of a CPU")
    if args.cls and args.device != "cpu":
        parser.error("--class is of a CPU, --device=cuda of none")
    variables = class_variables(args.step_bench, args.cls) if args.cls else {}
    if args.device == "cuda":                  # Without it deterministic cuBLAS is refused.
        variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    for case in args.case or CASES:
        variants = variants_of(args, case, variables)
        for variant in variants:
            variant.warm_up(args.what, args.seconds)
        for _ in range(args.rounds):
            for variant in variants:
                variant.samples.append(variant.run(args.what, variant.count))
        print(json.dumps(report_of(args, case, variants)), flush=True)
        for variant in variants:
            variant.end()


if __name__ == "__main__":
    main()
