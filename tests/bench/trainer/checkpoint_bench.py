#!/usr/bin/env python3
"""What checkpoints cost a training: with and without them in turn, on one core.

    checkpoint_bench.py --trainer=build/release/bin/noisefloor-trainer --data-root=DIR
                        [--network=resnet18] [--every=60] [--examples=2400] [--rounds=5] [--core=0]

A line of JSON for each round: seconds of the training by the clock and by the processor (of the
process), without and with, and what the trainer says of its checkpoints. The last line: medians of
the rounds' ratios, and the bound that needs no quiet machine: (held up + written by the thread) of
one checkpoint, as a share of the interval, as if the thread took all of its time from the training.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile


def specification(args):
    wanted = json.loads(subprocess.check_output([args.trainer, "--example-spec"]))
    wanted["model"]["name"] = args.network
    wanted["data"].update(name="cifar10", train_examples=args.examples, test_examples=200)
    wanted["train"].update(batch_size=64, epochs=1)
    wanted["evaluate"].update(batch_size=100, every_epochs=0)
    return wanted


def train(args, folder, checkpoints):
    """Clock, processor, what was measured, and the hash of the weights."""
    shutil.rmtree(f"{folder}/work", ignore_errors=True)
    command = ["taskset", "-c", str(args.core), args.trainer, f"--spec={folder}/spec.json",
               f"--data-root={args.data_root}", f"--work={folder}/work", f"--cache={folder}/cache"]
    if checkpoints:
        command += [f"--checkpoints={folder}/checkpoints", f"--checkpoint-every={args.every}"]
    with open(f"{folder}/events", "wb") as events:
        process = subprocess.Popen(command, stdout=events)
        _, _, used = os.wait4(process.pid, 0)
    with open(f"{folder}/events", encoding="utf-8") as events:
        outcome = json.loads(events.readlines()[-1])
    if outcome["event"] != "done":
        raise SystemExit(outcome["message"])
    measured = outcome["environment"]["measured"]
    return (measured["train_seconds"], used.ru_utime + used.ru_stime,
            measured.get("checkpoints"), outcome["hashes"]["weights"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--data-root", required=True)
    parser.add_argument("--network", default="resnet18")
    parser.add_argument("--every", type=float, default=60)
    parser.add_argument("--examples", type=int, default=2400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    args = parser.parse_args()
    clock, processor, bounds, hashes = [], [], [], set()
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/spec.json", "w", encoding="utf-8") as file:
            json.dump(specification(args), file)
        train(args, folder, False)  # The cache is filled.
        for number in range(args.rounds):
            order = (False, True) if number % 2 == 0 else (True, False)
            of = {on: train(args, folder, on) for on in order}
            hashes |= {of[False][3], of[True][3]}
            clock.append(of[True][0] / of[False][0])
            processor.append(of[True][1] / of[False][1])
            cost = of[True][2]
            if cost is not None:
                each = (cost["held_up_seconds"] + cost["write_seconds"]) / cost["written"]
                bounds.append(each / args.every)
            print(json.dumps({"round": number, "without": of[False][:2], "with": of[True][:2],
                              "checkpoints": cost}), flush=True)
    print(json.dumps({"ratio_by_clock": statistics.median(clock),
                      "ratio_by_processor": statistics.median(processor),
                      "share_at_most": max(bounds) if bounds else 0, "same_bits": len(hashes) == 1}))


if __name__ == "__main__":
    main()
