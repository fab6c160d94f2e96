#!/usr/bin/env python3
"""Real workers in many pools and one coordinator: what it costs to have them.

    pool_bench.py [--programs=build/release/bin] [--pools=50] [--each=10] [--seconds=60]
                  [--members=10000] [--folder=DIR] [--out=FILE]

The cluster is a script (sbatch, squeue and scancel in a folder on PATH): a job is a process of
this machine. Everything else is as users have it: `noisefloor fleet add`, `noisefloor serve` with
TLS and tokens, a noisefloor-worker for each job, which trains nothing (--trainer noop). FILE gets
JSON; what must hold whatever the machine is checked. See README.md beside this file.
"""
import argparse
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

from machine import Coordinator, Workshop, fail, write_result

HERE = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
HEARTBEAT_S = 3  # CoordinatorOptions::heartbeat_interval.
POLL_S = 15      # `serve --cluster-poll`, where nobody says another.
SWEEP = """\
name: pools
stack: noop
hardware: [{classes}]
noise: [control, algo]
replicates: {replicates}
"""


class Process:
    """What a process has used, all of its threads together."""
    def __init__(self, pid):
        self.pid = pid

    def cpu_s(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self):
        """Resident; private; the part of what is shared that is this one's."""
        found = {}
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.strip().endswith("kB"):
                    found[name] = int(rest.split()[0]) * 1024 / 1e6
        return {"resident_mb": found["Rss"], "private_mb": found["Private_Dirty"],
                "share_mb": found["Pss"]}

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


class PoolBench:
    def __init__(self, shop, args):
        self.shop, self.args = shop, args
        self.cluster = shop.path("cluster")
        os.makedirs(self.cluster)
        for name in ("sbatch", "squeue", "scancel"):
            os.symlink(os.path.join(HERE, "scripted_cluster.py"), os.path.join(self.cluster, name))
        os.environ["PATH"] = self.cluster + ":" + os.environ["PATH"]
        os.environ["TMPDIR"] = self.cluster  # It passes on, and tells the script where it is.
        self.count = args.pools * args.each
        self.found = {}

    def note(self, row, **figures):
        self.found[row] = figures
        print(f"{row}: " + ", ".join(f"{name} {value:.5g}" for name, value in figures.items()),
              file=sys.stderr, flush=True)

    def serve(self, **kwargs):
        self.server = Coordinator(self.shop, tls=True, metrics=True, **kwargs)
        self.process = Process(self.server.process.pid)
        self.environment = {**os.environ, "NOISEFLOOR_ACCESS": f"{self.server.access}/admin.access"}

    def command(self, *words):
        done = subprocess.run([self.shop.program("noisefloor"), *words], env=self.environment,
                              capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            fail(f"noisefloor {' '.join(words)}: {done.stderr}")

    def metric(self, name):
        """From Prometheus' page: HTTPS on loopback is plain here."""
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics") as answer:
            text = answer.read().decode()
        return sum(float(value) for value in
                   re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", text, re.M))

    def calls(self, program):
        try:
            return os.path.getsize(os.path.join(self.cluster, f"{program}.calls"))
        except FileNotFoundError:
            return 0

    def wait_for(self, condition, what, seconds=600):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                fail(f"not within {seconds} s: {what}\n{self.shop.errors()}")
            time.sleep(0.2)

    def here(self):
        return self.metric("noisefloor_workers_connected")

    def workers(self):
        """Their processes, as the scripted cluster knows them."""
        database = sqlite3.connect(os.path.join(self.cluster, "jobs.db"), timeout=60)
        rows = database.execute("SELECT pid FROM job").fetchall()
        database.close()
        return [Process(pid) for pid, in rows if os.path.exists(f"/proc/{pid}/stat")]

    def wire_bytes(self):
        """Of all connections to the coordinator: sent and received."""
        port = self.server.address.rsplit(":", 1)[1]
        said = subprocess.run(["ss", "-tinH", "state", "established", f"sport = :{port}"],
                              capture_output=True, text=True, check=True).stdout
        return (sum(map(int, re.findall(r"bytes_sent:(\d+)", said))),
                sum(map(int, re.findall(r"bytes_received:(\d+)", said))))

    # Rows.

    def come(self):
        begun = time.monotonic()
        for number in range(self.args.pools):
            self.command("fleet", "add", f"p{number}", "--slurm", f"--max={self.args.each}",
                         f"--min={self.args.each}", f"--backlog={self.args.each}",
                         f"--logs={self.shop.path('logs')}",
                         f"--access={self.server.access}/worker.access",
                         "--worker=--trainer=noop", f"--worker=--declare=c{number}")
        added = time.monotonic() - begun
        self.wait_for(lambda: self.here() >= self.count, "all workers are here")
        self.note("come", workers=self.count, pools=self.args.pools, added_s=added,
                  all_here_s=time.monotonic() - begun, sbatch=self.calls("sbatch"),
                  **self.process.memory_mb(), threads=self.process.threads())
        workers = self.workers()
        of_each = [worker.memory_mb() for worker in workers[::max(1, len(workers) // 20)]]
        self.note("a worker", **{name: sum(one[name] for one in of_each) / len(of_each)
                                 for name in of_each[0]}, threads=workers[0].threads())

    def idle(self):
        """Nothing waits: the workers say that they live, and the keeper looks and polls."""
        time.sleep(2 * POLL_S)  # What came with the last of them is over.
        cpu, beats = self.process.cpu_s(), self.metric("noisefloor_heartbeats_total")
        squeue, commits = self.calls("squeue"), self.metric("noisefloor_commit_seconds_count")
        theirs = sum(worker.cpu_s() for worker in self.workers())
        sent, received = self.wire_bytes()
        begun = time.monotonic()
        time.sleep(self.args.seconds)
        seconds = time.monotonic() - begun
        beats = self.metric("noisefloor_heartbeats_total") - beats
        polls = self.calls("squeue") - squeue
        commits = self.metric("noisefloor_commit_seconds_count") - commits
        sent, received = (after - before for after, before in
                          zip(self.wire_bytes(), (sent, received)))
        self.note("idle", cores=(self.process.cpu_s() - cpu) / seconds,
                  renewals_per_s=beats / seconds, squeue=polls, commits=commits, sent_bytes_per_s=sent / seconds,
                  received_bytes_per_s=received / seconds,
                  all_workers_cores=(sum(worker.cpu_s() for worker in self.workers()) - theirs)
                  / seconds, **self.process.memory_mb())
        # On a machine that is too busy a few come late; more than agreed, never.
        wanted = self.count * seconds / HEARTBEAT_S
        self.check(0.8 * wanted <= beats <= 1.02 * wanted + self.count,
                   f"{beats} heartbeats, not {wanted}")
        self.check(polls <= seconds / POLL_S + 1, f"squeue was called {polls} times in {seconds} s")
        self.check(commits <= 2, f"{commits} transactions though nothing happened")

    def beside(self):
        """How long a record of another worker waits to be kept beside them, and beside none."""
        ping = self.server.load("points", streams=1, batch=1, rate=200, seconds=10, prefix="ping",
                                hardware="cpu-intel-sse")
        self.note("beside them", **{name: ping[name] for name in
                                    ("ack_p50_ms", "ack_p99_ms", "ack_worst_ms")})

    def train(self):
        """Members that do nothing, on all classes."""
        replicates = max(1, self.args.members // (2 * self.args.pools))
        path = self.shop.path("sweep.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(replicates=replicates, classes=", ".join(
                f"c{number}" for number in range(self.args.pools))))
        done = self.metric("noisefloor_results_total")
        leases, expired = (self.metric(f"noisefloor_leases_{what}_total")
                           for what in ("granted", "expired"))
        cpu, begun = self.process.cpu_s(), time.monotonic()
        self.command("submit", path)
        members = 2 * self.args.pools * replicates
        self.wait_for(lambda: self.metric("noisefloor_results_total") - done >= members,
                      "all members are done")
        seconds = time.monotonic() - begun
        used = self.process.cpu_s() - cpu
        self.note("train", members=members, seconds=seconds, per_s=members / seconds,
                  coordinator_us=used / members * 1e6, cores=used / seconds,
                  leases=self.metric("noisefloor_leases_granted_total") - leases,
                  expired=self.metric("noisefloor_leases_expired_total") - expired,
                  **self.process.memory_mb())
        self.server.check()

    def crash(self):
        """kill -9: all come back, and nothing is submitted a second time."""
        sbatch = self.calls("sbatch")
        self.server.kill()
        begun = time.monotonic()
        self.serve(fresh=False, address=self.server.address)
        self.wait_for(lambda: self.here() >= self.count, "all workers are back")
        back = time.monotonic() - begun
        time.sleep(2 * POLL_S)
        self.note("crash", all_back_s=back, **self.process.memory_mb())
        self.check(self.calls("sbatch") == sbatch, "jobs were submitted again")
        live = self.server.ask("SELECT count(*) FROM launch WHERE phase < 4")
        self.check(live == self.count, f"{live} launches live, not {self.count}")

    def go(self):
        scancel, begun = self.calls("scancel"), time.monotonic()
        for number in range(self.args.pools):
            self.command("fleet", "remove", f"p{number}")
        self.wait_for(lambda: not self.workers(), "no worker is left")
        self.wait_for(lambda: self.server.ask("SELECT count(*) FROM launch WHERE phase < 4") == 0,
                      "the coordinator knows it")
        self.note("go", all_gone_s=time.monotonic() - begun,
                  scancel=self.calls("scancel") - scancel)

    def check(self, holds, otherwise):
        if not holds:
            fail(otherwise)

    def run(self):
        self.serve()
        self.note("alone", **self.process.memory_mb(), threads=self.process.threads())
        for row in (self.come, self.idle, self.beside, self.train, self.crash, self.go):
            row()
        self.server.stop()

    def end(self):
        for worker in self.workers():
            os.kill(worker.pid, signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="build/release/bin", help="folder of the programs")
    parser.add_argument("--pools", type=int, default=50)
    parser.add_argument("--each", type=int, default=10, help="workers of each pool")
    parser.add_argument("--seconds", type=float, default=60, help="how long nothing happens")
    parser.add_argument("--members", type=int, default=10000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--out", default="-", help="where the JSON goes")
    args = parser.parse_args()
    if shutil.which("ss") is None:
        parser.error("there is no ss: apt-get install iproute2")
    with Workshop(args.programs, args.folder) as shop:
        bench = PoolBench(shop, args)
        try:
            bench.run()
        finally:
            bench.end()
        result = {"at": time.strftime("%Y-%m-%d %H:%M:%S"), "cores": os.cpu_count(),
                  "load": os.getloadavg()[0], "rows": bench.found}
    write_result(result, args.out)


if __name__ == "__main__":
    main()
