#!/usr/bin/env python3
"""What a peer does with tasks that do nothing, for the row `peer` of coordinator_bench.py.

    PYTHON peer.py --slots=2 --tasks=10000 --latencies=200

PYTHON has Ray (https://ray.io, Apache 2.0; `pip install ray==2.60.0`). One node on loopback whose
workers are processes that live on, as trainers that stand by do; nothing is kept on disk. Prints one
line of JSON: tasks a second, and from the call of submit to the first line of the task, idle.
"""
import argparse
import json
import statistics
import time

import ray


@ray.remote(num_cpus=1)
def nothing():
    return time.time()


def rate(tasks):
    begin = time.monotonic()
    ray.get([nothing.remote() for _ in range(tasks)])
    return tasks / (time.monotonic() - begin)


def latencies(count):
    """Milliseconds, sorted; one at a time."""
    found = []
    for _ in range(count):
        begin = time.time()
        found.append((ray.get(nothing.remote()) - begin) * 1e3)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10000)
    parser.add_argument("--latencies", type=int, default=200)
    args = parser.parse_args()
    ray.init(num_cpus=args.slots, include_dashboard=False, log_to_driver=False,
             logging_level="ERROR")
    rate(max(args.tasks // 10, 1))  # Its processes are there then.
    per_s = rate(args.tasks)
    waited = latencies(args.latencies)
    print(json.dumps({"peer": f"ray {ray.__version__}", "per_s": per_s,
                      "lease_p50_ms": statistics.median(waited),
                      "lease_p99_ms": waited[min(len(waited) - 1, len(waited) * 99 // 100)]}))


if __name__ == "__main__":
    main()
