"""The coordinator lives in jobs of a real Slurm, one after the other: nobody loses a lease."""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime
from typing import Any

from cluster import Cluster, wait_until

BIN = os.environ["NOISEFLOOR_BIN"]
SOURCE = os.environ["NOISEFLOOR_SOURCE"]
ALL = os.environ.get("NOISEFLOOR_SLURM_ALL") == "1"
SCRIPT = os.path.join(SOURCE, "deploy/slurm/coordinator.sbatch")
SLOW = os.path.join(SOURCE, "tests/slurm/slow.py")
SWEEP = """\
name: {name}
stack: slow
hardware: [any]
noise: [control, algo]
replicates: {replicates}
steps: {steps}
"""


class Study:
    """A folder that all nodes share, with a coordinator in a job; and the words of people."""

    def __init__(self, test: unittest.TestCase, cluster: Cluster) -> None:
        self._test = test
        self.cluster = cluster
        self.folder = tempfile.mkdtemp(prefix="nf-jobs-")
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.shared = os.path.join(self.folder, "shared")
        for name in ("local", "bin", "shared"):
            os.mkdir(os.path.join(self.folder, name))
        self._wrap_sbatch()
        self.environment = {
            **cluster.environment(), "HOME": self.folder,
            "PATH": f"{self.folder}/bin:{BIN}:{cluster.environment()['PATH']}",
            "PYTHONPATH": os.path.join(SOURCE, "worker/python"),
            "NOISEFLOOR_PYTHON": sys.executable,
            "NOISEFLOOR_LOCAL": os.path.join(self.folder, "local"),
            "NOISEFLOOR_HOST": "127.0.0.1",  # All nodes are this machine.
            "NOISEFLOOR_ACCESS": os.path.join(self.shared, "access")}
        self._workers: list[subprocess.Popen[bytes]] = []
        test.addCleanup(self._end)
        self.sbatch(self.shared)
        wait_until(self.answers, 60, "the coordinator answers")

    def sbatch(self, *words: str) -> None:
        self.job = subprocess.run(["sbatch", "--parsable", SCRIPT, *words], check=True,
                                  env=self.environment, text=True, capture_output=True,
                                  timeout=60).stdout.strip()

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _wrap_sbatch(self) -> None:
        """Of a pool's jobs it waits while FOLDER/hold is there, and leaves FOLDER/held."""
        with open(self.path("bin/sbatch"), "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
case "$*" in *=nf-*)
  while [ -e {self.folder}/hold ]; do : >{self.folder}/held; sleep 0.1; done;;
esac
exec {shutil.which("sbatch")} "$@"
""")
        os.chmod(self.path("bin/sbatch"), 0o755)

    def _end(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        for job in self.cluster.jobs():
            if job["state"] in ("PENDING", "RUNNING"):
                self.cluster.run("scancel", "--full", "--signal=KILL", job["key"], code=None)
                self.cluster.run("scancel", job["key"], code=None)
        wait_until(lambda: not [one for one in self.cluster.jobs()
                                if one["state"] in ("PENDING", "RUNNING", "COMPLETING")], 60,
                   "the queue is empty")

    def said(self) -> str:
        text = ""
        for path in sorted(glob.glob(f"{self.shared}/logs/*") + glob.glob(f"{self.folder}/*.log")):
            with open(path, encoding="utf-8") as file:
                text += f"--- {path}\n{file.read()}"
        return text

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([os.path.join(BIN, "noisefloor"), "--output=json", *words],
                              env=self.environment, capture_output=True, text=True, timeout=120)

    def answers(self) -> bool:
        return self.run("status").returncode == 0

    def ask(self, *words: str) -> Any:
        """Again while nobody answers: the coordinator may be on its way."""
        answers: list[Any] = []

        def asked() -> bool:
            done = self.run(*words)
            if done.returncode == 0:
                answers.append(json.loads(done.stdout))
            elif done.returncode != 3:  # Unreachable.
                self._test.fail(done.stdout + done.stderr + self.said())
            return done.returncode == 0
        wait_until(asked, 60, f"an answer to {words}")
        return answers[0]

    def worker(self, name: str) -> None:
        with open(os.path.join(self.folder, f"{name}.log"), "ab") as log:
            self._workers.append(subprocess.Popen(
                [os.path.join(BIN, "noisefloor-worker"), f"--name={name}", "--declare=any-1",
                 "--slots=1", f"--state={self.folder}/state-{name}",
                 f"--trainer=slow={sys.executable} {SLOW}"], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def submit(self, name: str, replicates: int, steps: int, hardware: str = "any-1") -> int:
        path = os.path.join(self.folder, "sweep.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(name=name, replicates=replicates,
                                    steps=steps).replace("[any]", f"[{hardware}]"))
        return int(self.ask("submit", path)["sweep"].removeprefix("s"))

    def counts(self, sweep: int) -> dict[str, int]:
        found: dict[str, int] = self.ask("status", f"s{sweep}")["sweep"]["members"]
        return found

    def wait_for(self, sweep: int) -> None:
        def done() -> bool:
            now = self.counts(sweep)
            self._test.assertEqual(now["failed"], 0, now)
            return now["done"] == now["total"]
        wait_until(done, 180, f"s{sweep} is done")

    def term(self) -> tuple[int, dict[str, Any]]:
        """The last one, and whose it is."""
        names = (path.rpartition("-")[2] for path in glob.glob(f"{self.shared}/handover/term-*"))
        last = max(int(name) for name in names if name.isdigit())  # Others are being written.
        with open(f"{self.shared}/handover/term-{last}/claim.json", encoding="utf-8") as file:
            claim: dict[str, Any] = json.load(file)
        return last, claim

    def rows(self, sql: str) -> list[list[Any]]:
        rows: list[list[Any]] = self.ask(f"--home={self.term()[1]['home']}", "sql", sql)["rows"]
        return rows

    def write(self, name: str, content: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def pool(self) -> dict[str, Any]:
        pool: dict[str, Any] = self.ask("fleet", "status", "a100")["pools"][0]
        return pool

    def workers(self) -> list[dict[str, str]]:
        """Jobs of pools."""
        return [job for job in self.cluster.jobs() if job["name"].startswith("nf-")]

    def jobs(self) -> list[dict[str, str]]:
        """Of the coordinator, in order."""
        return sorted((job for job in self.cluster.jobs()
                       if job["name"] == "noisefloor-coordinator"), key=lambda job: int(job["key"]))

    def hand_over(self) -> None:
        """The next job is submitted and takes over."""
        term, claim = self.term()
        self.cluster.run("scancel", "--batch", "--signal=USR1", self.job)
        wait_until(lambda: self.term()[0] == term + 1 and self.answers(), 90,
                   "the next one has the data")
        wait_until(lambda: self.jobs()[-2]["state"] == "COMPLETED", 60, "the one before has ended")
        self._test.assertFalse(os.path.exists(claim["home"]), "a copy is left")
        self.job = self.jobs()[-1]["key"]

    def gaps(self, worker: str) -> list[float]:
        """For how many seconds it had no coordinator, each time."""
        gaps = []
        lost: datetime | None = None
        with open(self.path(f"{worker}.log"), encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if words[2] not in ("disconnected", "connected"):
                    continue
                at = datetime.fromisoformat(words[0].replace("Z", "+00:00"))
                if words[2] == "disconnected":
                    lost = at
                elif lost is not None:
                    gaps.append((at - lost).total_seconds())
        return gaps


class Handover(unittest.TestCase):
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        if not Cluster.available():
            raise unittest.SkipTest("there is no Slurm: deploy/setup --check")
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)

    def hashes(self, study: Study, sweep: int) -> list[list[Any]]:
        return study.rows("SELECT substr(member, instr(member, 'c')), hash, sha256 FROM v_hash "
                          f"WHERE sweep = {sweep} AND accepted ORDER BY 1, 2")

    def test_members_train_on_through_one_job_after_the_other(self) -> None:
        study = Study(self, self.cluster)
        for name in ("a", "b"):
            study.worker(name)
        wait_until(lambda: len(study.ask("workers")["workers"]) == 2, 60, "two workers are here")
        calm = study.submit("calm", 1, 20)
        study.wait_for(calm)
        rounds = 5 if ALL else 2
        # More than are trained meanwhile, however slow the machine is.
        members = 3 * (1 + rounds)
        sweep = study.submit("moved", members, 60)
        wait_until(lambda: study.counts(sweep)["leased"] == 2, 60, "two train")
        for number in range(1, 1 + rounds):
            study.hand_over()
            wait_until(lambda: all(len(study.gaps(one)) == number for one in ("a", "b")), 60,
                       "both workers have found it")
            wait_until(lambda: study.counts(sweep)["leased"] == 2, 60, "two train on")
        gaps = study.gaps("a") + study.gaps("b")
        print("without a coordinator:", " ".join(f"{gap:.2f}" for gap in gaps), "s",
              file=sys.stderr)
        # A lease lives for 15 s, and was renewed up to 3 s before.
        self.assertLess(max(gaps), 12)
        study.wait_for(sweep)
        self.assertEqual(study.term()[0], 1 + rounds)
        self.assertEqual(study.rows("SELECT count(*) FROM v_attempt WHERE NOT accepted"), [[0]])
        self.assertEqual(study.rows("SELECT max(attempt) FROM v_attempt"), [[1]])
        # The same as in a life without all that.
        again = study.submit("calm-again", members, 60)
        study.wait_for(again)
        self.assertEqual(self.hashes(study, sweep), self.hashes(study, again))

    @unittest.skipUnless(ALL, "takes half a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_a_job_that_died_goes_on_where_its_home_is(self) -> None:
        study = Study(self, self.cluster)
        study.worker("a")
        wait_until(lambda: study.ask("workers")["workers"], 60, "a worker is here")
        sweep = study.submit("killed", 1, 150)
        wait_until(lambda: study.counts(sweep)["leased"] == 1, 60, "one trains")
        claim = study.term()[1]
        home = claim["home"]
        os.kill(claim["process"], signal.SIGKILL)
        wait_until(lambda: study.jobs()[-1]["state"] not in ("RUNNING", "COMPLETING"), 60,
                   "it has died")
        study.sbatch(study.shared, home)
        study.wait_for(sweep)
        self.assertEqual(study.term()[0], 1)
        self.assertEqual(study.rows("SELECT count(*) FROM v_attempt WHERE NOT accepted"), [[0]])

    @unittest.skipUnless(ALL, "takes a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_a_pool_goes_on_with_what_was_begun(self) -> None:
        """Two jobs that run, and some that are being submitted at that moment."""
        study = Study(self, self.cluster)
        study.ask("fleet", "add", "a100", "--slurm", "--gres=gpu:a100:1", "--max=4", "--idle=5s",
                  "--worker=--declare=any-1",
                  f"--prologue=export PYTHONPATH={SOURCE}/worker/python",
                  f"--worker=--trainer=slow={sys.executable} {SLOW}")
        wait_until(lambda: study.pool()["classes"], 60, "a worker has come")
        # The node has two GPUs.
        sweep = study.submit("pooled", 1, 300)
        wait_until(lambda: sorted(job["state"] for job in study.workers()
                                  if job["state"] in ("PENDING", "RUNNING"))[-2:] ==
                   ["RUNNING", "RUNNING"], 60, "two run")
        study.write("hold", "")
        more = study.submit("more", 3, 60)
        wait_until(lambda: os.path.exists(study.path("held")), 60, "one is being submitted")
        before = study.term()[0]
        self.cluster.run("scancel", "--batch", "--signal=USR1", study.job)
        wanted = f"{study.shared}/handover/term-{before}/wanted.json"

        def ready() -> bool:
            try:
                with open(wanted, encoding="utf-8") as file:
                    return '"ready"' in file.read()
            except FileNotFoundError:
                return False
        wait_until(ready, 60, "the next one is ready")
        os.unlink(study.path("hold"))
        wait_until(lambda: study.term()[0] == before + 1, 60, "the next one has the data")
        for one in (sweep, more):
            study.wait_for(one)
        self.assertEqual(study.rows("SELECT count(*) FROM v_attempt WHERE NOT accepted"), [[0]])
        names = [job["name"] for job in study.workers() if "_" not in job["key"]]
        self.assertEqual(len(names), len(set(names)), f"one was submitted twice: {names}")
        launches = study.rows("SELECT count(DISTINCT nonce), count(*) FROM launch")
        self.assertEqual(launches[0][0], len({job["name"] for job in study.workers()}),
                         f"one is not known: {launches} {study.workers()}")
        study.ask("fleet", "remove", "a100")
        wait_until(lambda: not study.ask("fleet", "status")["pools"], 60, "it is gone")
        self.assertEqual([job for job in study.workers() if job["state"] == "RUNNING"], [])


if __name__ == "__main__":
    unittest.main()
