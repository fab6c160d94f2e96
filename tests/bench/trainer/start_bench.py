#!/usr/bin/env python3
"""Times a worker from its start to the first records of its member, and what its data cost.

    start_bench.py --bin=build/release/bin --data-root=DIR [--data=cifar10]
                   [--class=CLASS] [--workers=10]

  fetched   nothing is on the machine: data from the coordinator, then read, hashed, ordered
  warm      another worker, with the cache that the first one has left
  shared    data root on the machine (as on a shared file system), empty cache
  at once   so many workers with one empty cache, started together: what all of them fetched

Each worker has a state of its own and one slot; its member trains one epoch of 1000 examples. One line
of JSON for each case. Nothing is taken out of the system's page cache.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

SWEEP = """\
name: start-{number}
model: {{name: small_cnn}}
data: {{name: {data}, train_examples: 1000, test_examples: 1000}}
train: {{epochs: 1, batch_size: 100}}
noise: [control]
hardware: [{hardware}]
replicates: {replicates}
"""


class Worker:
    """One that is followed by its log. Times in seconds from its start."""

    def __init__(self, args, address, folder, name, data_root, cache):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NOISEFLOOR_")}
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [os.path.join(args.bin, "noisefloor-worker"), f"--coordinator={address}",
             f"--name={name}", f"--state={folder}/state-{name}", f"--data-root={data_root}",
             f"--cache={cache}", f"--classes={args.hardware}", "--slots=1", "--log-level=debug",
             "--log-format=json"], stderr=subprocess.PIPE, text=True, env=environment)
        self.times, self.fetched = {}, 0
        self.first_records = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        for line in self.process.stderr:
            now = time.monotonic() - self.begin
            try:
                said = json.loads(line)
            except ValueError:
                continue
            event = said.get("event", "")
            if event in ("connected", "fetches_data", "data_is_here", "trainer_started"):
                self.times.setdefault(event, now)
            if event == "data_is_here":
                self.fetched += int(said["fetched"])
            if event == "action" and said.get("do", "").startswith("send records"):
                self.times.setdefault("first_records", now)
                self.first_records.set()
        self.first_records.set()  # It has ended: whoever waits sees that there are none.

    def wait(self):
        if not self.first_records.wait(300) or "first_records" not in self.times:
            raise SystemExit(f"no records came: {self.times}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.sweeps = args, folder, 0
        self.server = subprocess.Popen(
            [os.path.join(args.bin, "noisefloor"), "serve", f"--home={folder}/home",
             "--listen=127.0.0.1:0", f"--data-root={args.data_root}", "--log-level=error"],
            stdout=subprocess.PIPE, text=True)
        found = re.search(r"listens on (\S+?),? ", self.server.stdout.readline())
        self.address = found.group(1).rstrip(",")
        self.nothing = os.path.join(folder, "nothing")
        os.makedirs(self.nothing)

    def submit(self, replicates):
        self.sweeps += 1
        path = os.path.join(self.folder, f"sweep-{self.sweeps}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(number=self.sweeps, data=self.args.data,
                                    hardware=self.args.hardware, replicates=replicates))
        subprocess.run([os.path.join(self.args.bin, "noisefloor"), "submit", path,
                        f"--coordinator={self.address}"], check=True, capture_output=True)

    def worker(self, name, data_root, cache):
        return Worker(self.args, self.address, self.folder, name, data_root,
                      os.path.join(self.folder, cache))

    def one(self, case, data_root, cache):
        self.submit(1)
        worker = self.worker(case, data_root, cache)
        worker.wait()
        worker.stop()
        say(case, {"fetched_mb": worker.fetched / 1e6, **worker.times})

    def at_once(self, count):
        self.submit(count)
        begin = time.monotonic()
        workers = [self.worker(f"w{i}", self.nothing, "cache-of-all") for i in range(count)]
        for worker in workers:
            worker.wait()
        seconds = time.monotonic() - begin
        for worker in workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.process.wait(120)
        say("at once", {"workers": count, "all_first_records": seconds,
                        "fetched_mb": sum(w.fetched for w in workers) / 1e6,
                        "of_workers": sum(w.fetched > 0 for w in workers)})


def say(case, figures):
    print(json.dumps({"case": case, **{name: round(value, 3) for name, value in figures.items()}}),
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--data-root", default=os.environ.get("NOISEFLOOR_DATA", ""))
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--class", dest="hardware", default="cpu-intel-avx512")
    parser.add_argument("--workers", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        try:
            bench.one("fetched", bench.nothing, "cache")
            bench.one("warm", bench.nothing, "cache")
            bench.one("shared", args.data_root, "cache-of-shared")
            bench.at_once(args.workers)
        finally:
            bench.server.send_signal(signal.SIGTERM)
            bench.server.wait(60)


if __name__ == "__main__":
    main()
