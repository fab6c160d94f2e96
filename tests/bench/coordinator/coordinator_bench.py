#!/usr/bin/env python3
"""Loads a coordinator and writes what it did, beside the least that this machine can do.

    coordinator_bench.py [--programs=build/release/bin] [--rows=lives,points,...] [--rounds=5]
                         [--folder=DIR] [--out=FILE] [--minutes=15] [--quick]

Each row starts `noisefloor serve` (synchronous=FULL) on a fresh home below DIR, lets
noisefloor-load loose on it over loopback, and asks SQLite afterwards whether all that was
acknowledged is there, once. All cases of a row take turns, round after round. FILE gets JSON: the
environment, and of each case the median, least and most over the rounds. --quick is tiny: it shows
that the rows work, and its figures mean nothing. See README.md beside this file.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

from machine import (Coordinator, Floor, Foreign, Workshop, fail, memory_of,
                     pieces_between, write_result)

SHAPES = ((8, 64), (2, 16), (2, 1))


class Bench:
    def __init__(self, shop, args):
        self.shop, self.args, self.found = shop, args, {}

    def scaled(self, count, quick):
        return quick if self.args.quick else count

    def rounds(self):
        return range(1 if self.args.quick else self.args.rounds)

    def note(self, case, **figures):
        """One round's figures of a case."""
        for name, value in figures.items():
            self.found.setdefault(case, {}).setdefault(name, []).append(value)
        print(f"{case}: " + ", ".join(f"{name} {value:.5g}" for name, value in figures.items()),
              file=sys.stderr, flush=True)

    def summary(self):
        return {case: {name: {"median": statistics.median(values), "least": min(values),
                              "most": max(values), "rounds": len(values)}
                       for name, values in figures.items()}
                for case, figures in self.found.items()}

    # Lives.

    def live(self, server, workers, slots, lives, seconds=12, check=True):
        with Foreign() as foreign:
            figures = server.load("lives", workers=workers, slots=slots, lives=lives,
                                  seconds=seconds)
        server.stop()
        if figures["settled"] < 10:
            fail(f"no lives: {figures}")
        if check:
            server.check(settled=figures["settled"])
        return {name: figures[name] for name in ("per_s", "life_p50_ms", "life_p99_ms",
                                                 "longest_gap_ms", "coordinator_us", "load_us")
                } | {"foreign": foreign.share}

    def lives(self):
        """Whole lives a second: 10,000 queued, 100,000 queued, the floor."""
        for _ in self.rounds():
            for workers, slots in SHAPES:
                lives = self.scaled(10000 if slots > 1 else 4000, 100)
                case = f"lives {workers}x{slots}"
                floor = Floor(self.shop, members=10 * lives)
                least = self.live(floor, workers, slots, 2 * lives, check=False)
                self.note(f"{case} floor", **least)
                for name, queued in (("", 10000), (" of 100k", 100000)):
                    server = Coordinator(self.shop)
                    server.load("submit", members=queued, cells=100)
                    figures = self.live(server, workers, slots, lives)
                    self.note(f"{case}{name}", **figures,
                              of_floor=figures["per_s"] / least["per_s"])

    def many(self):
        """1,000 workers with one slot."""
        workers = self.scaled(1000, 20)
        for _ in self.rounds():
            floor = Floor(self.shop, members=100000)
            least = self.live(floor, workers, 1, self.scaled(20000, 100), check=False)
            self.note("lives 1000x1 floor", **least)
            server = Coordinator(self.shop)
            server.load("submit", members=self.scaled(20000, 200), cells=100)
            figures = self.live(server, workers, 1, self.scaled(15000, 100))
            self.note("lives 1000x1", **figures, of_floor=figures["per_s"] / least["per_s"])

    def watch(self):
        """What three that watch a sweep of 100,000 cost the rest."""
        for _ in self.rounds():
            rates = {}
            for watchers in (0, 3):
                server = Coordinator(self.shop)
                server.load("submit", members=self.scaled(100000, 300), cells=60)
                watching = [server.command("watch", "s1") for _ in range(watchers)]
                figures = self.live(server, 8, 64, self.scaled(20000, 100))
                for process in watching:
                    process.kill()
                    process.wait()
                rates[watchers] = figures["per_s"]
                self.note(f"lives 8x64, {watchers} watch", **figures)
            self.note("watch", of_none=rates[3] / rates[0])

    def latency(self):
        """Idle: submit to the worker's lease."""
        names = ("answer_p50_ms", "answer_p99_ms", "lease_p50_ms", "lease_p99_ms")
        for _ in self.rounds():
            for case, server in (("floor", Floor(self.shop)), ("", Coordinator(self.shop))):
                figures = server.load("latency", count=self.scaled(200, 5))
                server.stop()
                self.note(f"latency {case}".strip(), **{name: figures[name] for name in names})

    def peer(self):
        """Tasks that do nothing by a peer with two slots; ours in turns with it. Ours are durable."""
        if not self.args.peer:
            fail("the row `peer` wants --peer=PYTHON, one that has what peer.py beside this names")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")
        for _ in self.rounds():
            said = subprocess.run([self.args.peer, script, f"--tasks={self.scaled(10000, 20)}",
                                   f"--latencies={self.scaled(200, 5)}"],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            theirs = json.loads(said.splitlines()[-1])
            name = theirs.pop("peer")
            self.note(name, **theirs)
            server = Coordinator(self.shop)
            server.load("submit", members=10000, cells=100)
            ours = self.live(server, 2, 1, self.scaled(4000, 100))
            server = Coordinator(self.shop)
            waited = server.load("latency", count=self.scaled(200, 5))
            server.stop()
            self.note(f"noisefloor beside {name}", per_s=ours["per_s"],
                      lease_p50_ms=waited["lease_p50_ms"], lease_p99_ms=waited["lease_p99_ms"],
                      of_peer=ours["per_s"] / theirs["per_s"])

    # Records.

    def say(self, server, **options):
        options = {"seconds": self.scaled(4, 0.2)} | options
        figures = server.load("points", **options)
        return figures, {name: figures[name] for name in (
            "per_s", "ack_p50_ms", "ack_p99_ms", "ack_p999_ms", "ack_worst_ms")}

    def points(self):
        """Records a second, and how long until they are kept."""
        for _ in self.rounds():
            floor = Floor(self.shop)
            _, least = self.say(floor)
            floor.stop()
            self.note("points floor", **least)
            for case, rate in (("points", 0), ("points at 50k/s", 50000),
                               ("points at 10k/s", 10000)):
                server = Coordinator(self.shop)
                figures, told = self.say(server, rate=rate)
                server.stop()
                server.check(settled=figures["settled"], points=figures["points"])
                if rate == 0:
                    told["of_floor"] = told["per_s"] / least["per_s"]
                self.note(case, **told)

    def upload(self):
        """A file of 1 GiB, alone and beside 50,000 records a second; the disk beside."""
        size = self.scaled(1024, 4)
        for _ in self.rounds():
            disk = self.shop.disk(mib=size)
            self.note("disk beside a file", sync_p99_ms=disk["sync_p99_ms"],
                      sync_worst_ms=disk["sync_worst_ms"], mb_per_s=disk["mb_per_s"])
            server = Coordinator(self.shop)
            alone = server.load("upload", mib=size)
            server.stop()
            self.note("upload alone", mb_per_s=alone["mb_per_s"])
            server = Coordinator(self.shop)
            talking = server.start_load("points", rate=50000, seconds=self.scaled(14, 2))
            beside = server.load("upload", mib=size)
            figures = self.shop.last_line(talking)
            server.stop()
            server.check(points=figures["points"])
            self.note("upload beside", mb_per_s=beside["mb_per_s"],
                      seconds=beside["seconds"],
                      ack_p50_ms=figures["ack_p50_ms"], ack_p99_ms=figures["ack_p99_ms"],
                      ack_worst_ms=figures["ack_worst_ms"],
                      of_disk_worst=figures["ack_p99_ms"] / disk["sync_worst_ms"])

    # People.

    def submit(self):
        """Sweeps of 60 cells, and of 10,000."""
        for _ in self.rounds():
            for cells, members in ((60, 10000), (60, 100000), (10000, 10000)):
                members = self.scaled(members, cells)
                server = Coordinator(self.shop)
                figures = server.load("submit", cells=cells, members=members)
                self.note(f"submit {members} of {cells} cells", ms=figures["ms"],
                          coordinator_ms=figures["coordinator_ms"])
                server.stop()

    def queries(self):
        """Reads, while the coordinator has all the lives that it can take, and idle."""
        shape = {"cells": 60, "replicates": self.scaled(1666, 5)}
        for _ in self.rounds():
            server = Coordinator(self.shop)
            server.load("submit", members=shape["cells"] * shape["replicates"], cells=60)
            server.load("submit", members=60, cells=60, count=self.scaled(500, 5))
            for load in ("idle", "saturated"):
                if load == "saturated":
                    lives = server.start_load("lives", workers=8, slots=64, lives=10**9,
                                              seconds=self.scaled(20, 2))
                    time.sleep(self.scaled(2, 0.2))
                for what in ("members", "sweep", "sweeps", "explain"):
                    figures = server.load("query", what=what, count=self.scaled(200, 5),
                                          seconds=4, sweep=1, **shape)
                    self.note(f"{what}, {load}", p50_ms=figures["p50_ms"],
                              p99_ms=figures["p99_ms"], bytes=figures["most_bytes"])
            self.shop.last_line(lives)
            server.stop()
            server.check()

    def page(self):
        """What a browser asks for, of a home with a million records, idle and beside all the lives
        that the coordinator can take; and what that costs these."""
        views = {"sweeps": "ListSweeps?page_size=50", "sweep": "GetSweep?sweep_id=1",
                 "members": "ListMembers?sweep_id=2&page_size=100",
                 "members by top-1": "ListMembers?sweep_id=2&page_size=100&order_by=top1+desc",
                 "member": "GetMember?member=s1c0r0", "workers": "ListWorkers"}
        for _ in self.rounds():
            server = Coordinator(self.shop, page=True)
            points = server.load("points", points=self.scaled(1_000_000, 2000), rate=0, seconds=60)
            server.load("submit", members=self.scaled(100000, 300), cells=60)
            lives = {"workers": 8, "slots": 64, "lives": 10**9}
            alone = server.load("lives", seconds=self.scaled(6, 0.5), prefix="alone", **lives)
            beside = None
            for load in ("idle", "saturated"):
                if load == "saturated":
                    beside = server.start_load("lives", seconds=self.scaled(12, 1), prefix="beside",
                                               **lives)
                    time.sleep(self.scaled(2, 0.2))
                for name, path in views.items():
                    took, size = server.page_times("/api/" + path, self.scaled(100, 5))
                    self.note(f"page, {name}, {load}", p50_ms=took[len(took) // 2],
                              p99_ms=took[len(took) * 99 // 100], worst_ms=took[-1], bytes=size)
            beside = self.shop.last_line(beside)
            server.stop()
            server.check(settled=points["settled"] + alone["settled"] + beside["settled"])
            self.note("page, lives", of_alone=beside["per_s"] / alone["per_s"],
                      alone_p99_ms=alone["life_p99_ms"], beside_p99_ms=beside["life_p99_ms"])

    # Size, ends, returns.

    def restart(self):
        """kill -9 with 100,000 members and 5 M records; until a worker has its first lease."""
        server = Coordinator(self.shop, home="filled")
        server.load("submit", members=self.scaled(100000, 600), cells=60)
        server.load("points", batch=512, seconds=60, points=self.scaled(5000000, 1000),
                    submit="false")
        for _ in self.rounds():
            server.load("lives", workers=2, slots=16, lives=self.scaled(2000, 50))
            server.kill()
            self.note("restart", **self.first_lease(server))
            server = self.successor
        server.stop()
        server.check()
        shutil.rmtree(server.home)

    def first_lease(self, killed):
        waiting = killed.start_load("first-lease")
        time.sleep(0.3)
        server = Coordinator(self.shop, home="filled", fresh=False, address=killed.address)
        serving = time.monotonic() - server.begin
        leased = self.shop.last_line(waiting)["at"] - server.begin
        self.successor = server
        return {"serving_ms": serving * 1e3, "first_lease_ms": leased * 1e3,
                "log_mb": os.path.getsize(f"{server.home}/noisefloor.db-wal") / 1e6}

    def memory(self):
        """Private and resident: idle, 100,000 members, 1,000 workers; with TLS and without."""
        for _ in self.rounds():
            for name, tls in (("", True), (", no TLS", False)):
                server = Coordinator(self.shop, tls=tls)
                server.load("query", what="version", count=1)
                self.note(f"memory idle{name}", **memory(server))
                server.load("submit", members=100000, cells=60)
                self.note(f"memory 100k members{name}", **memory(server))
                held = server.start_load("hold", workers=self.scaled(1000, 20), slots=1)
                connected = json.loads(held.stdout.readline())
                self.note(f"memory 1000 workers{name}", connect_ms=connected["ms"],
                          **memory(server))
                held.stdin.close()
                held.wait()
                server.stop()

    def bytes(self):
        """Of a queued member, a finished life, a record."""
        members, lives = self.scaled(100000, 600), self.scaled(10000, 100)
        server = Coordinator(self.shop)
        server.stop()
        empty = server.bytes()
        server = Coordinator(self.shop, fresh=False)
        server.load("submit", members=60, cells=60)
        server.stop()
        one = server.bytes()
        server = Coordinator(self.shop)
        server.load("submit", members=members, cells=60)
        server.stop()
        queued = server.bytes()
        server = Coordinator(self.shop, fresh=False)
        settled = server.load("lives", workers=8, slots=64, lives=lives, batches=0)["settled"]
        server.stop()
        finished = server.bytes()
        server = Coordinator(self.shop, fresh=False)
        kept = server.load("points", batch=512, points=self.scaled(500000, 5000),
                           seconds=30)["points"]
        server.stop()
        self.note("bytes", sweep=one - empty, queued_member=(queued - one) / members,
                  life=(finished - queued) / settled, record=(server.bytes() - finished) / kept)

    def pieces(self):
        """The longest piece of the loop: the worst for one who has a record kept every 2 ms."""
        members = self.scaled(100000, 600)
        for _ in self.rounds():
            server = Coordinator(self.shop, metrics=True)
            server.load("submit", members=members, cells=60)
            for what in ("nothing", "cancel", "retry", "cancel"):
                seconds = self.scaled(3, 0.3)
                before = server.pieces()
                pinging = self.start_ping(server, seconds)
                time.sleep(seconds / 3)
                changed = {"ms": 0} if what == "nothing" else server.load("change", what=what)
                self.note(f"{what} 100k", ms=changed["ms"], **self.pinged(pinging),
                          **pieces_between(before, server.pieces()))
            server.stop()

    def ended(self):
        """A person's calls when 100,000 members have ended."""
        lives = self.scaled(100000, 100)
        server = Coordinator(self.shop, metrics=True)
        server.load("submit", members=lives, cells=100)
        server.load("lives", workers=8, slots=64, lives=lives, seconds=60)
        for _ in self.rounds():
            before = server.pieces()
            pinging = self.start_ping(server, self.scaled(3, 0.3))
            figures = server.load("submit", members=1, cells=1, count=self.scaled(200, 5))
            self.note("submit when 100k have ended", ms=figures["ms"],
                      worst_ms=figures["worst_ms"], **self.pinged(pinging),
                      **pieces_between(before, server.pieces()))
        server.stop()

    def delete(self):
        """A sweep with a million records goes, beside one who has a record kept every 2 ms."""
        lives, records = self.scaled(10000, 100), self.scaled(1000000, 5000)
        for _ in self.rounds():
            server = Coordinator(self.shop, metrics=True)
            server.load("submit", members=lives, cells=100)
            server.load("lives", workers=8, slots=64, lives=lives, seconds=60)
            server.load("points", batch=512, points=records, seconds=60)
            self.wait_for(lambda: server.ask("SELECT count(*) FROM lease WHERE dropped_us IS NULL")
                          == 0)
            before = server.pieces()
            pinging = self.start_ping(server, self.scaled(12, 1))
            for sweep in ("s1", "s2"):
                if server.command("delete", sweep, "--yes").wait() != 0:
                    fail(f"{sweep} was not deleted:\n{self.shop.errors()}")
            self.wait_for(lambda: server.ask("SELECT count(*) FROM sweep WHERE deleted_us > 0 "
                                             "AND definition <> ''") == 0)
            self.note("delete 1 M records", **self.pinged(pinging),
                      **pieces_between(before, server.pieces()))
            server.stop()

    def start_ping(self, server, seconds):
        return server.start_load("points", streams=1, batch=1, rate=500, seconds=seconds,
                                 prefix="ping", hardware="cpu-intel-sse")

    def pinged(self, process):
        figures = self.shop.last_line(process)
        return {name: figures[name] for name in ("ack_p50_ms", "ack_p99_ms", "ack_worst_ms")}

    def expire(self):
        """16,000 leases whose workers stop speaking, at one time."""
        workers, slots = self.scaled(16, 2), self.scaled(1000, 5)
        for _ in self.rounds():
            server = Coordinator(self.shop, metrics=True)
            server.load("submit", members=2 * workers * slots, cells=10)
            silent = server.start_load("hold", workers=workers, slots=slots)
            silent.stdout.readline()
            self.wait_for(lambda: server.ask("SELECT count(*) FROM lease") >= workers * slots)
            before = server.pieces()
            silent.send_signal(19)  # SIGSTOP
            pinging = self.start_ping(server, 20)
            self.wait_for(lambda: server.ask("SELECT count(*) FROM lease WHERE dropped_us IS NOT "
                                             "NULL") >= workers * slots)
            silent.kill()
            silent.wait()
            spread = server.ask("SELECT (max(dropped_us) - min(dropped_us)) / 1000.0 FROM lease "
                                "WHERE drop_cause <> 'none'")
            self.note("16,000 leases expire", ms=spread, **self.pinged(pinging),
                      **pieces_between(before, server.pieces()))
            server.stop()

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                fail("what was waited for did not come in a minute")
            time.sleep(0.05)

    def tls(self):
        """Lives, records and single calls with TLS and tokens, and without."""
        for _ in self.rounds():
            rates = {}
            for name, tls in (("plain", False), ("TLS", True)):
                server = Coordinator(self.shop, tls=tls)
                calls = server.load("query", what="version", count=self.scaled(5000, 20))
                asked = server.load("query", what="workers", count=self.scaled(5000, 20))
                _, told = self.say(server)
                server.load("submit", members=10000, cells=100)
                server.stop()
                server = Coordinator(self.shop, tls=tls, fresh=False)
                lives = server.load("lives", workers=8, slots=64, lives=self.scaled(10000, 100))
                rates[tls] = {"lives": lives["per_s"], "points": told["per_s"],
                              "calls": 1 / calls["p50_ms"], "asked": 1 / asked["p50_ms"]}
                server.stop()
                server.check()
                self.note(name, **rates[tls])
            self.note("TLS against plain", **{row: rates[True][row] / rates[False][row]
                                              for row in rates[True]})

    def storm(self):
        """1,000 workers come back after kill -9."""
        workers = self.scaled(1000, 20)
        for _ in self.rounds():
            server = Coordinator(self.shop)
            server.load("submit", members=workers, cells=10)
            fleet = server.start_load("hold", workers=workers, slots=1, reconnect="true")
            connected = json.loads(fleet.stdout.readline())
            self.wait_for(lambda: server.ask("SELECT count(*) FROM lease") >= workers)
            server.kill()
            self.wait_for(lambda: self.held(fleet)["lost"] >= workers)
            time.sleep(self.scaled(2, 0.2))
            server = Coordinator(self.shop, fresh=False, address=server.address)
            self.wait_for(lambda: self.held(fleet)["welcomed"] >= 2 * workers)
            back = time.monotonic() - server.begin
            lost = server.ask("SELECT count(*) FROM lease WHERE dropped_us IS NOT NULL")
            self.note("storm", connect_ms=connected["ms"], all_back_ms=back * 1e3,
                      leases=self.held(fleet)["leases"], leases_lost=lost)
            fleet.stdin.close()
            fleet.wait()
            server.stop()

    def held(self, fleet):
        fleet.stdin.write("now\n")
        fleet.stdin.flush()
        return json.loads(fleet.stdout.readline())

    def idle(self):
        """Sessions and a watch that say nothing for --minutes."""
        server = Coordinator(self.shop)
        server.load("submit", members=4, cells=1)
        fleet = server.start_load("hold", workers=4, slots=1)
        fleet.stdout.readline()
        watch = server.command("watch", "s1")
        time.sleep(60 * self.args.minutes)
        held = self.held(fleet)
        self.note("idle stream", minutes=self.args.minutes, lost=held["lost"],
                  watch_lost=int(watch.poll() is not None),
                  leases_lost=server.ask("SELECT count(*) FROM lease WHERE dropped_us > 0"))
        watch.kill()
        fleet.stdin.close()
        fleet.wait()
        server.stop()


def memory(server):
    private, resident = memory_of(server.process.pid)
    return {"private_mb": private, "resident_mb": resident}


ROWS = ("lives", "many", "watch", "latency", "points", "upload", "submit", "queries", "page",
        "restart", "memory", "bytes", "pieces", "ended", "delete",
        "expire", "tls", "storm")


def environment(bench):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    disk = bench.shop.disk(seconds=bench.scaled(2, 0.1))
    kind = subprocess.run(["stat", "-f", "-c", "%T", bench.shop.folder], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    version = subprocess.run([bench.shop.program("noisefloor"), "version"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"at": time.strftime("%Y-%m-%d %H:%M:%S"), "version": version,
            "cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(),
            "allowed_cores": len(os.sched_getaffinity(0)),
            "first_in_first_out": os.sched_getscheduler(0) == os.SCHED_FIFO,
            "load": os.getloadavg()[0], "file_system": kind, "disk": disk}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="build/release/bin", help="folder of the programs")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}, idle, peer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None,
                        help="where homes are made, on the disk to measure")
    parser.add_argument("--out", default="-", help="where the JSON goes")
    parser.add_argument("--minutes", type=float, default=15, help="of the row `idle`")
    parser.add_argument("--peer", default="", help="Python of the row `peer`: see peer.py")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that the rows work")
    args = parser.parse_args()
    rows = args.rows.split(",")
    for row in rows:
        if row not in ROWS + ("idle", "peer"):
            parser.error(f"no row is called {row}: expected some of {', '.join(ROWS)}, idle, peer")
    with Workshop(args.programs, args.folder) as shop:
        bench = Bench(shop, args)
        result = {"environment": environment(bench)}
        for row in rows:
            getattr(bench, row)()
        result["rows"] = bench.summary()
    write_result(result, args.out)


if __name__ == "__main__":
    main()
