"""Processes that a measurement starts, what they use, and what lies in a coordinator's home."""
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")


def fail(message):
    sys.exit(f"coordinator_bench: {message}")


def write_result(result, path):
    """`result` as JSON in the file `path`; "-": what the program prints."""
    text = json.dumps(result, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def memory_of(process):
    """MB: private (what it has written: nobody else has it, and it cannot be dropped), resident."""
    found = {}
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if rest.strip().endswith("kB"):
                found[name] = int(rest.split()[0]) * 1024 / 1e6
    return found["Private_Dirty"], found["Rss"]


def processor_seconds():
    """User and system time of every process there is."""
    used = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        used[int(name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS)
    return used


class Foreign:
    """The share of one core that others' processes took meanwhile."""
    def __enter__(self):
        self.before, self.begin = processor_seconds(), time.monotonic()
        return self

    def __exit__(self, *_):
        after, ours = processor_seconds(), {os.getpid()}
        for _ in range(8):  # Children of children.
            ours |= {process for process, (parent, _) in after.items() if parent in ours}
        theirs = sum(used - self.before.get(process, (0, 0.0))[1]
                     for process, (_, used) in after.items() if process not in ours)
        self.share = theirs / max(1e-9, time.monotonic() - self.begin)


class Workshop:
    """A temporary folder, and the programs; kills what it started."""
    def __init__(self, programs, folder):
        self.programs, self.folder = os.path.abspath(programs), tempfile.mkdtemp(dir=folder)
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, programs=None):
        return os.path.join(programs or self.programs, name)

    def start(self, command, **kwargs):
        with open(self.path("errors.log"), "ab") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                       **kwargs)
        self.started.append(process)
        return process

    def errors(self):
        with open(self.path("errors.log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def last_line(self, process):
        """Its last line as JSON, when it has ended well."""
        out, _ = process.communicate()
        if process.returncode != 0:
            fail(f"{' '.join(process.args[:4])} ... ended with {process.returncode}:\n"
                 f"{self.errors()}")
        return json.loads(out.strip().splitlines()[-1])

    def disk(self, **options):
        return self.last_line(self.start([self.program("noisefloor-load"), "disk",
                                          f"--folder={self.folder}", *flags(options)]))


def flags(options):
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def pieces_between(before, after):
    """Of the pieces between two answers of Coordinator.pieces: the least bound within which the
    longest was, in ms, and how many were above 20."""
    did = {bound: after[bound] - before[bound] for bound in sorted(after)}
    total = did[float("inf")]
    within = next(bound for bound in did if did[bound] == total)
    return {"piece_within_ms": within * 1e3, "pieces_above_20_ms": total - did[0.02]}


class Server:
    """Whatever noisefloor-load can be let loose on."""
    def load(self, row, **options):
        return self.shop.last_line(self.start_load(row, **options))

    def start_load(self, row, **options):
        command = [self.shop.program("noisefloor-load"), f"--coordinator={self.address}",
                   f"--process={self.process.pid}"]
        if self.access:
            command += [f"--worker-access={self.access}/worker.access",
                        f"--person-access={self.access}/admin.access"]
        return self.shop.start(command + [row] + flags(options), stdin=subprocess.PIPE)

    def kill(self):
        self.process.kill()
        self.process.wait()


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


class Coordinator(Server):
    """`noisefloor serve` on a free port and a home, new or as it was left."""
    def __init__(self, shop, home="home", tls=False, programs=None, fresh=True, address=None,
                 metrics=False, page=False):
        self.shop, self.home, self.access = shop, shop.path(home), ""
        if fresh:
            shutil.rmtree(self.home, ignore_errors=True)
        noisefloor = shop.program("noisefloor", programs)
        if tls and address is None:
            address = free_address()  # Access files name it before it listens.
        if tls:
            self.access = self.home + ".access"
            if fresh:
                shutil.rmtree(self.access, ignore_errors=True)
                subprocess.run([noisefloor, "access", "init", self.access, f"--home={self.home}",
                                f"--address={address}"], check=True, stdout=subprocess.DEVNULL)
        self.begin = time.monotonic()
        self.process = shop.start([noisefloor, "serve", f"--home={self.home}",
                                   f"--listen={address or '127.0.0.1:0'}"] +
                                  (["--metrics=127.0.0.1:0"] if metrics else []) +
                                  (["--page=127.0.0.1:0"] if page else []))
        line = self.process.stdout.readline()
        if " listens on " not in line:
            fail(f"no coordinator:\n{shop.errors()}")
        self.address = line.split(" listens on ")[1].split()[0].rstrip(",")
        if metrics:
            self.metrics = self.process.stdout.readline().split("metrics on ")[1].strip()
        if page:
            url = urllib.parse.urlsplit(self.process.stdout.readline().split("page: ")[1].strip())
            self.page = url.netloc
            self.token = urllib.parse.parse_qs(url.query)["token"][0]

    def pieces(self):
        """How many pieces the loop has done, by seconds that they took at most."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        name = "noisefloor_loop_piece_seconds_bucket{le="
        return {float(line.split('"')[1]): int(line.split()[-1])
                for line in lines if line.startswith(name)}

    def page_times(self, path, count):
        """Milliseconds of `count` requests on one connection, as a browser's, and bytes of one."""
        connection = http.client.HTTPConnection(self.page)
        took = []
        for _ in range(count):
            begin = time.monotonic()
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            body = answer.read()
            took.append((time.monotonic() - begin) * 1e3)
            if answer.status != 200:
                fail(f"{path}: {answer.status} {body[:300]}")
        connection.close()
        return sorted(took), len(body)

    def command(self, *arguments):
        return self.shop.start([self.shop.program("noisefloor"), *arguments,
                                f"--coordinator={self.address}"])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait() != 0:
            fail(f"the coordinator ended with {self.process.returncode}:\n{self.shop.errors()}")

    def ask(self, sql):
        database = sqlite3.connect(f"file:{self.home}/noisefloor.db?mode=ro", uri=True)
        try:
            return database.execute(sql).fetchone()[0]
        finally:
            database.close()

    def check(self, settled=None, points=None):
        """Whatever was acknowledged is there, once; the coordinator may run."""
        done = self.ask("SELECT count(*) FROM member WHERE state = 'done'")
        accepted = self.ask("SELECT count(*) FROM attempt WHERE accepted = 1")
        members = self.ask("SELECT count(*) FROM (SELECT DISTINCT sweep, cell, replicate FROM "
                           "lease JOIN attempt USING (lease) WHERE accepted = 1)")
        if not (done == accepted == members and settled in (None, done)):
            fail(f"dishonest: {settled} were settled, {done} are done, {accepted} attempts "
                 f"accepted, of {members} members")
        kept = self.ask("SELECT count(*) FROM record")
        if points not in (None, kept):
            fail(f"dishonest: {points} records were acknowledged, {kept} are there")

    def bytes(self):
        """Of the database, after its log was folded in: only once it has stopped."""
        return os.path.getsize(f"{self.home}/noisefloor.db")


class Floor(Server):
    """The least that keeps and answers: floor.h."""
    def __init__(self, shop, members=0):
        self.shop, self.access, folder = shop, "", shop.path("floor")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.process = shop.start([shop.program("noisefloor-load"), "floor-serve",
                                   f"--folder={folder}", f"--members={members}"],
                                  stdin=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            fail(f"no floor:\n{shop.errors()}")
        self.address = json.loads(line)["address"]

    def stop(self):
        self.kill()
