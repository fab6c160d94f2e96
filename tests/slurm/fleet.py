"""A coordinator with pools on a cluster of the tests, and what its people ask it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from cluster import Cluster, wait_until

BIN = os.environ["NOISEFLOOR_BIN"]
SLOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow.py")
SOURCE = os.environ["NOISEFLOOR_SOURCE"]
ALL = os.environ.get("NOISEFLOOR_SLURM_ALL") == "1"
SWEEP = """\
name: {name}
stack: {stack}
hardware: [{hardware}]
noise: [control, algo]
replicates: {replicates}
{more}
"""


class Fleet:
    """A coordinator on a cluster, and the words of its command line."""

    def __init__(self, test: unittest.TestCase, cluster: Cluster, **variables: str) -> None:
        self._test = test
        self.cluster = cluster
        self.folder = tempfile.mkdtemp(prefix="nf-fleet-")
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**cluster.environment(), "HOME": self.folder,
                            "PATH": f"{self.folder}/bin:{BIN}:{cluster.environment()['PATH']}",
                            "PYTHONPATH": os.path.join(SOURCE, "worker/python"),
                            "NOISEFLOOR_PYTHON": sys.executable, **variables}
        self.home = os.path.join(self.folder, "home")
        self._wrap_programs()
        self.address = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None
        test.addCleanup(self._end)
        self.serve()

    def _wrap_programs(self) -> None:
        """Each is FOLDER/wrap.NAME while that is there, and leaves a mark of each call."""
        os.mkdir(self.path("bin"))
        for name in ("sbatch", "squeue", "scancel"):
            path, wrap = self.path(f"bin/{name}"), self.path(f"wrap.{name}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nprintf . >>{self.folder}/{name}.calls\n"
                           f"[ -e {wrap} ] && . {wrap} && exit\n"
                           f"exec {shutil.which(name)} \"$@\"\n")
            os.chmod(path, 0o755)

    def serve(self) -> None:
        with open(os.path.join(self.folder, "serve.log"), "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                ["noisefloor", "serve", "--output=json", f"--listen={self.address}",
                 f"--home={self.home}", "--cluster-poll=1s"], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                executable=os.path.join(BIN, "noisefloor"))
        text = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text += line
            if line.startswith("}"):
                break
        self.address = json.loads(text)["address"]

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def wait_for_the_end(self) -> None:
        """Until the coordinator was killed by somebody else."""
        assert self._process is not None
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            raise AssertionError("the coordinator was not killed: " + self.said()) from None
        self.kill()

    def stop(self) -> None:
        """As a service is stopped."""
        assert self._process is not None
        self._process.terminate()
        self._test.assertEqual(self._process.wait(120), 0, self.said())
        if self._process.stdout:
            self._process.stdout.close()

    @property
    def process(self) -> int:
        assert self._process is not None
        return self._process.pid

    def said(self) -> str:
        with open(os.path.join(self.folder, "serve.log"), encoding="utf-8") as file:
            return file.read()

    def _end(self) -> None:
        self.kill()  # First: it would submit another.
        for job in self.cluster.jobs():
            if job["state"] in ("PENDING", "RUNNING"):
                self.cluster.run("scancel", "--full", "--signal=KILL", job["key"], code=None)
                self.cluster.run("scancel", job["key"], code=None)
        wait_until(lambda: not [one for one in self.cluster.jobs()
                                if one["state"] in ("PENDING", "RUNNING", "COMPLETING")], 60,
                   "the queue is empty")

    def ask(self, *words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [os.path.join(BIN, "noisefloor"), "--output=json", f"--coordinator={self.address}",
             *words], env=self.environment, capture_output=True, text=True, timeout=120)
        self._test.assertEqual(done.returncode, code, done.stdout + done.stderr + self.said())
        return json.loads(done.stdout) if code == 0 and done.stdout.startswith("{") else done.stderr

    def add(self, name: str, *words: str, trainer: str = "noop", code: int = 0,
            declared: bool = True) -> Any:
        # Tests have no GPUs: workers declare what the job was given.
        usual = [("--idle=2s", "--idle")]
        if declared:
            usual.append((f"--worker=--declare={name}", "--declare"))
        return self.ask("fleet", "add", name, "--slurm", f"--worker=--trainer={trainer}",
                        f"--worker=--checkpoints={self.folder}/checkpoints",
                        *[one for one, option in usual
                          if not any(option in word for word in words)], *words, code=code)

    def add_seen(self, name: str, *words: str, trainer: str = "noop") -> None:
        """And waits until its first worker was here: what it offers is known."""
        self.add(name, *words, trainer=trainer)
        try:
            wait_until(lambda: self.pool(name)["classes"], 60, "a worker has come")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.pool(name)}, {self.ask('fleet', 'logs', name)}"
                                 ) from None

    def pool(self, name: str) -> dict[str, Any]:
        pool: dict[str, Any] = self.ask("fleet", "status", name)["pools"][0]
        return pool

    def heard(self, name: str) -> int:
        return sum(one["heard"] for one in self.pool(name)["launches"])

    def submit(self, hardware: str, replicates: int, stack: str = "noop", more: str = "",
               name: str = "pooled") -> int:
        path = os.path.join(self.folder, "sweep.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(name=name, stack=stack, hardware=hardware,
                                    replicates=replicates, more=more))
        return int(self.ask("submit", path)["sweep"].removeprefix("s"))

    def counts(self, sweep: int) -> dict[str, int]:
        found: dict[str, int] = self.ask("status", f"s{sweep}")["sweep"]["members"]
        return found

    def wait_for(self, sweep: int, seconds: float = 120) -> None:
        """Until all of its members are done."""
        def done() -> bool:
            now = self.counts(sweep)
            self._test.assertEqual(now["failed"], 0, now)
            return now["done"] == now["total"]
        wait_until(done, seconds, f"s{sweep} is done")

    def wait_until_empty(self, name: str, seconds: float = 60) -> None:
        wait_until(lambda: not self.pool(name)["launches"], seconds, f"pool {name} has no jobs")

    def slow(self, name: str, *words: str) -> None:
        """A pool whose members take their time; its first worker was here."""
        self.add_seen(name, f"--prologue=export PYTHONPATH={SOURCE}/worker/python", *words,
                      trainer=f"slow={sys.executable} {SLOW}")

    def polls(self) -> int:
        """How often squeue was called so far."""
        return self.calls("squeue")

    def calls(self, program: str) -> int:
        try:
            return os.path.getsize(self.path(f"{program}.calls"))
        except FileNotFoundError:
            return 0

    def states(self) -> list[str]:
        """Of the jobs of our pools, whichever."""
        names = [row[0] for row in self.rows("SELECT 'nf-' || name || '-' || tag || '-' FROM pool")]
        return [job["state"] for job in self.cluster.jobs()
                if any(job["name"].startswith(name) for name in names)]

    def state_of(self, job: str) -> str:
        return next(one["state"] for one in self.cluster.jobs() if one["key"] == job)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, content: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def wrap(self, program: str, script: str) -> None:
        """From now on the script stands in for the program, until it removes WRAP. REAL is the
        program, COORDINATOR the process that called it."""
        for word, meaning in (("REAL", shutil.which(program) or ""), ("FOLDER", self.folder),
                              ("WRAP", self.path(f"wrap.{program}")),
                              ("COORDINATOR", str(self.process))):
            script = script.replace(word, meaning)
        self.write(f"wrap.{program}", script + "\n")

    def wrapped(self, program: str) -> bool:
        return os.path.exists(self.path(f"wrap.{program}"))

    def lost(self) -> list[list[Any]]:
        """The attempts without an accepted result, and why; not what an idle worker was given
        while it left."""
        return self.rows("SELECT member, attempt, worker, outcome, cause, why FROM v_attempt "
                         "WHERE NOT accepted AND why NOT LIKE '%left before it began'")

    def rows(self, sql: str) -> list[list[Any]]:
        done = subprocess.run(
            [os.path.join(BIN, "noisefloor"), "--output=json", f"--home={self.home}", "sql", sql],
            env=self.environment, capture_output=True, text=True, timeout=120, check=True)
        rows: list[list[Any]] = json.loads(done.stdout)["rows"]
        return rows


class Pools(unittest.TestCase):
    """Tests on one cluster. CONF: lines of its slurm.conf instead of the usual ones."""

    cluster: Cluster
    CONF: dict[str, str] = {}

    @classmethod
    def setUpClass(cls) -> None:
        if not Cluster.available():
            raise unittest.SkipTest("there is no Slurm: deploy/setup --check")
        cls.cluster = Cluster(cls.CONF)
        cls.addClassCleanup(cls.cluster.stop)

    def fleet(self, **variables: str) -> Fleet:
        return Fleet(self, self.cluster, **variables)
