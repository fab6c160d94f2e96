#!/usr/bin/env python3
"""Times whole members, as a worker starts them, beside those of another build: request to exit.

    member_bench.py --trainer=build/release/bin/noisefloor-trainer --data-root=DIR
                    [--other=NAME=TRAINER ...] [--class=CLASS] [--data=cifar10] [--train-examples=2048]
                    [--test-examples=2048] [--epochs=1] [--rounds=7] [--cores=0]

Ways of starting: `fork` from a server that holds the libraries (with the cache of canonical data,
as a worker gives it), `standby` (loaded before the request comes) and `cold`. An other build is
measured as a standby. All ways take turns, round after round; ratios are medians over the rounds
against the first one named. Memory is the most that the process had when it told a record,
of its own (private) and in all (resident). The hashes of all must be equal. See README.md beside this file.
"""
import argparse
import array
import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LIBRARIES = {"sse": ("default", "SSE41", "SSE4_2"), "avx2": ("avx2", "AVX2", "AVX2"),
             "avx512": ("avx512", "AVX512_CORE", "AVX512")}
PR_SET_CHILD_SUBREAPER = 36


def class_variables(name):
    aten, one_dnn, mkl = LIBRARIES[name.rsplit("-", 1)[1]]
    return {"ATEN_CPU_CAPABILITY": aten, "ONEDNN_MAX_CPU_ISA": one_dnn, "MKL_CBWR": mkl,
            "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_DYNAMIC": "FALSE",
            "MKL_DYNAMIC": "FALSE", "CUDA_VISIBLE_DEVICES": "", "NOISEFLOOR_EVENTS": "3",
            "PATH": os.environ["PATH"], "LC_ALL": "C"}


def memory_of(process):
    """MiB: private, resident."""
    found = {}
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.strip().endswith("kB"):
                    found[name] = int(rest.split()[0]) / 1024
    except OSError:
        pass  # It has gone before its last word was read.
    return found.get("Private_Clean", 0) + found.get("Private_Dirty", 0), found.get("Rss", 0)


def wait_until_asleep(process):
    """Until it waits for its request: it sleeps, and its processor time stands still."""
    last = -1
    while True:
        time.sleep(0.02)
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        if fields[0] == "Z":
            sys.exit("a standby has ended before its request")
        used = int(fields[11]) + int(fields[12])
        if fields[0] == "S" and used == last and used > 5:
            return
        last = used


def follow(events, process):
    """Reads events to their end. Returns memory and hashes."""
    memory, hashes = (0.0, 0.0), {}
    with os.fdopen(events) as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] in ("progress", "records"):
                memory = max(memory, memory_of(process))
            if event["event"] == "failed":
                sys.exit(f"a member failed: {event['message']}")
            if event["event"] == "done":
                hashes = event.get("hashes", {})
    return {"private_mib": memory[0], "resident_mib": memory[1]}, hashes


class Way:
    def __init__(self, name, trainer, how, args, folder):
        self.name, self.trainer, self.how, self.args = name, os.path.abspath(trainer), how, args
        self.folder, self.samples, self.hashes = os.path.join(folder, name), [], set()
        self.variables = class_variables(args.hardware)
        self.cache = os.path.join(folder, "cache")
        if how != "other":
            self.variables["NOISEFLOOR_CACHE"] = self.cache
            os.makedirs(self.cache, exist_ok=True)
        self.server = self.start_server() if how == "fork" else None

    def start(self, arguments, descriptors, extra=()):
        """Descriptors 0 to 3 of the new process."""
        pinned = ["taskset", "-c", self.args.cores]
        numbers = " ".join(f"{to}<&{of}" if to == 0 else f"{to}>&{of}"
                           for to, of in enumerate(descriptors) if of >= 0)
        return subprocess.Popen(["sh", "-c", f'exec "$@" {numbers}', "sh", *pinned, self.trainer,
                                 *arguments], env=self.variables,
                                pass_fds=[of for of in descriptors if of >= 0] + list(extra))

    def start_server(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with open(os.devnull, "w", encoding="ascii") as null:
            self.start(["--serve-forks"], [theirs.fileno(), null.fileno(), -1, -1])
        theirs.close()
        answer = json.loads(ours.recv(65536))
        if "ready" not in answer:
            sys.exit(f"{self.name}: {answer}")
        return ours

    def fork(self, descriptors):
        answers, answer = os.pipe()
        request = {"protocol": 1, "parent": os.getpid(),
                   "cores": [int(core) for core in self.args.cores.split(",")], "variables": {}}
        rights = array.array("i", [descriptors[0], descriptors[1], descriptors[3], answer])
        self.server.sendmsg([json.dumps(request).encode()],
                            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        os.close(answer)
        process = 0
        with os.fdopen(answers) as lines:
            for line in lines:
                told = json.loads(line)
                process = told.get("process", process)
                if "refused" in told:
                    sys.exit(f"{self.name}: {told['refused']}")
        return process

    def run(self, specification):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        request = {"protocol": 1, "member": "s1c0r0", "attempt": 1, "specification": specification,
                   "data_root": self.args.data_root, "work_directory": self.folder,
                   "write_evaluation_set": False}
        reading, writing = os.pipe()
        events, told = os.pipe()
        null = os.open(os.devnull, os.O_WRONLY)
        descriptors = [reading, null, null, told]
        start = time.perf_counter()
        process = (self.fork(descriptors) if self.how == "fork"
                   else self.start([], descriptors).pid)
        for file in (reading, null, told):
            os.close(file)
        if self.how in ("standby", "other"):
            wait_until_asleep(process)
            start = time.perf_counter()
        os.write(writing, (json.dumps(request) + "\n").encode())
        os.close(writing)
        sample, hashes = follow(events, process)
        used = os.wait4(process, 0)[2]
        sample["seconds"] = time.perf_counter() - start
        sample["cpu_seconds"] = used.ru_utime + used.ru_stime
        self.hashes.add(json.dumps(hashes, sort_keys=True))
        self.samples.append(sample)


def specification_of(args):
    printed = subprocess.run([args.trainer, "--example-spec"], capture_output=True, check=True)
    specification = json.loads(printed.stdout)
    specification["hardware_class"] = args.hardware
    specification["data"].update(name=args.data, train_examples=args.train_examples,
                                 test_examples=args.test_examples)
    specification["train"]["epochs"] = args.epochs
    return specification


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--other", action="append", default=[])
    parser.add_argument("--data-root", default=os.environ.get("NOISEFLOOR_DATA", ""))
    parser.add_argument("--class", dest="hardware", default="cpu-intel-avx512")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--train-examples", type=int, default=2048)
    parser.add_argument("--test-examples", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7, choices=range(2, 1000), metavar="N")
    parser.add_argument("--cores", default="0")
    args = parser.parse_args()
    # So that what a server forks becomes a child of this process.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    specification = specification_of(args)
    with tempfile.TemporaryDirectory() as folder:
        ways = []
        for other in args.other:
            name, _, trainer = other.partition("=")
            ways.append(Way(name, trainer, "other", args, folder))
        ways += [Way(how, args.trainer, how, args, folder) for how in ("standby", "fork", "cold")]
        for way in ways:
            way.run(specification)  # Fills caches.
            way.samples.clear()
        for _ in range(args.rounds):
            for way in ways:
                way.run(specification)
        print(f"# {args.hardware} {args.data} train={args.train_examples} "
              f"test={args.test_examples} epochs={args.epochs} rounds={args.rounds} "
              f"load={os.getloadavg()[0]:.1f}")
        for way in ways:
            print(f"{way.name:12}", json.dumps(row_of(way, ways[0])))
        if len(set.union(*(way.hashes for way in ways))) != 1:
            sys.exit("the hashes differ")


def row_of(way, base):
    def values(name):
        return [sample[name] for sample in way.samples]

    quartiles = statistics.quantiles(values("seconds"), n=4)
    ratios = [mine["seconds"] / its["seconds"] for mine, its in zip(way.samples, base.samples)]
    by_cpu = [mine["cpu_seconds"] / its["cpu_seconds"]
              for mine, its in zip(way.samples, base.samples)]
    return {"seconds": round(statistics.median(values("seconds")), 3),
            "quartiles": [round(quartiles[0], 3), round(quartiles[2], 3)],
            "ratio": round(statistics.median(ratios), 3),
            "cpu_seconds": round(statistics.median(values("cpu_seconds")), 3),
            "ratio_by_cpu": round(statistics.median(by_cpu), 3),
            "private_mib": round(statistics.median(values("private_mib"))),
            "resident_mib": round(statistics.median(values("resident_mib")))}


if __name__ == "__main__":
    main()
