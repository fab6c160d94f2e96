"""Pools of workers on a real Slurm: they come when members wait, and go; what fails is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from cluster import NODES, Cluster, wait_until

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
        """sbatch is FOLDER/wrap while that is there; squeue leaves a mark of each call."""
        os.mkdir(self.path("bin"))
        wrap = self.path("wrap")
        for name, before in (("sbatch", f"[ -e {wrap} ] && . {wrap} && exit"),
                             ("squeue", f"printf . >>{self.folder}/squeue.calls")):
            path = self.path(f"bin/{name}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{before}\nexec {shutil.which(name)} \"$@\"\n")
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

    @property
    def process(self) -> int:
        assert self._process is not None
        return self._process.pid

    def said(self) -> str:
        with open(os.path.join(self.folder, "serve.log"), encoding="utf-8") as file:
            return file.read()

    def _end(self) -> None:
        for job in self.cluster.jobs():
            if job["state"] in ("PENDING", "RUNNING"):
                self.cluster.run("scancel", "--full", "--signal=KILL", job["key"], code=None)
                self.cluster.run("scancel", job["key"], code=None)
        self.kill()
        wait_until(lambda: not [one for one in self.cluster.jobs()
                                if one["state"] in ("PENDING", "RUNNING", "COMPLETING")], 60,
                   "the queue is empty")

    def ask(self, *words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [os.path.join(BIN, "noisefloor"), "--output=json", f"--coordinator={self.address}",
             *words], env=self.environment, capture_output=True, text=True, timeout=120)
        self._test.assertEqual(done.returncode, code, done.stdout + done.stderr + self.said())
        return json.loads(done.stdout) if code == 0 and done.stdout.startswith("{") else done.stderr

    def add(self, name: str, *words: str, trainer: str = "noop", code: int = 0) -> Any:
        # Tests have no GPUs: workers declare what the job was given.
        return self.ask("fleet", "add", name, "--slurm", f"--worker=--trainer={trainer}",
                        f"--worker=--checkpoints={self.folder}/checkpoints",
                        *[usual for usual, option in
                          (("--idle=2s", "--idle"), (f"--worker=--declare={name}", "--declare"))
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
        try:
            with open(self.path("squeue.calls"), encoding="utf-8") as file:
                return len(file.read())
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
        """From now on the script stands in for the program, while FOLDER/wrap is there."""
        script = script.replace("REAL", shutil.which(program) or "").replace("FOLDER", self.folder)
        self.write("wrap", script + "\n")

    def rows(self, sql: str) -> list[list[Any]]:
        done = subprocess.run(
            [os.path.join(BIN, "noisefloor"), "--output=json", f"--home={self.home}", "sql", sql],
            env=self.environment, capture_output=True, text=True, timeout=120, check=True)
        rows: list[list[Any]] = json.loads(done.stdout)["rows"]
        return rows


class Pools(unittest.TestCase):
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        if not Cluster.available():
            raise unittest.SkipTest("there is no Slurm: deploy/setup --check")
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)

    def fleet(self, **variables: str) -> Fleet:
        return Fleet(self, self.cluster, **variables)


class Scale(Pools):
    def test_workers_of_two_types_come_when_members_wait_and_go_when_they_do_not(self) -> None:
        fleet = self.fleet()
        for kind in ("v100", "a100"):
            said = fleet.add(kind, f"--gres=gpu:{kind}:1", "--max=2")
            self.assertIn(f"on nodes nf{kind}", said["cluster_says"])
        # The first worker of each comes to show what it has, and goes: nothing waits.
        for kind in ("v100", "a100"):
            wait_until(lambda: fleet.pool(kind)["classes"] == [kind], 60, "a worker has come")
            fleet.wait_until_empty(kind)
        self.assertEqual(fleet.pool("a100")["standing"], "nothing waits that it could train")
        sweep = fleet.submit("v100, a100", 30)
        fleet.wait_for(sweep)
        nodes = {worker: node for worker, node in fleet.rows(
            "SELECT worker, node FROM v_launch WHERE ending <> 'surplus'")}
        self.assertTrue(all(node == f"nf{worker.split('-')[0]}" for worker, node in nodes.items()))
        self.assertEqual(fleet.rows("SELECT hardware, count(DISTINCT worker) > 0 FROM v_member "
                                    "GROUP BY 1 ORDER BY 1"), [["a100", 1], ["v100", 1]])
        for kind in ("v100", "a100"):
            fleet.wait_until_empty(kind)
        # One that was asked for may be taken back before it begins: others were faster.
        self.assertLessEqual(set(fleet.states()), {"COMPLETED", "CANCELLED"})
        self.assertLessEqual({row[0] for row in fleet.rows("SELECT ending FROM v_launch")},
                             {"well", "surplus"})
        fleet.wait_for(fleet.submit("a100", 5, name="again"))

    def test_some_stay_and_many_are_an_array(self) -> None:
        fleet = self.fleet()
        fleet.add("a100", "--min=1", "--max=3", "--gres=gpu:a100:1", "--backlog=3")
        wait_until(lambda: fleet.heard("a100") == 1, 60, "one is here")
        fleet.slow("plain-1", "--max=3", "--backlog=3", "--gres=gpu:0")
        sweep = fleet.submit("plain-1", 6, "slow", "steps: 20")
        wait_until(lambda: fleet.heard("plain-1") == 3, 60, "three are here")
        self.assertTrue(any("_" in one["job"] for one in fleet.pool("plain-1")["launches"]))
        fleet.wait_for(sweep)
        fleet.wait_until_empty("plain-1")
        self.assertEqual(fleet.heard("a100"), 1)

    def test_the_dry_run_says_what_the_cluster_says(self) -> None:
        fleet = self.fleet()
        for words, said in (
                (("--gres=gpu:h100:1",), "Requested node configuration is not available"),
                (("--gres=gpu:v100:2",), "Requested node configuration is not available"),
                (("--sbatch=--constraint=h100",), "Invalid feature specification"),
                (("--partition=nosuch",), "invalid partition specified: nosuch"),
                (("--sbatch=-c64",), "Requested node configuration is not available"),
                (("--sbatch=--bogus=1",), "unrecognized option"),
                (("--sbatch=--array=0-3",), "--array: a pool says that itself"),
                (("--sbatch=job.sh",), "expected an option of sbatch"),
                (("--max=0",), "max: expected 1 to 10000"),
                (("--min=2",), "min: expected at most max"),
                (("--idle=soon",), "--idle=soon: expected a time"),
                (("--logs=/proc/none",), "/proc/none")):
            for dry in ((), ("--dry-run",)):
                self.assertIn(said, fleet.add("p", *words, *dry, code=1))
        self.assertIn("expected lower-case letters", fleet.add("P!", code=1))
        said = fleet.add("p", "--gres=gpu:a100:2", "--dry-run", "--prologue=module load 'x y'")
        self.assertIn("on nodes nfa100", said["cluster_says"])
        self.assertIn("module load 'x y'\n", said["script"])
        self.assertFalse(said["added"])
        self.assertEqual(fleet.ask("fleet", "status")["pools"], [])
        self.assertIn("no pool p", fleet.ask("fleet", "pause", "p", code=1))
        fleet.add("p")
        self.assertIn("there is a pool p already", fleet.add("p", code=1))


class Ends(Pools):
    def test_a_pool_that_is_removed_leaves_no_job(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100", "--gres=gpu:a100:1", "--max=2")
        sweep = fleet.submit("a100", 8, "slow", "steps: 400")
        wait_until(lambda: fleet.heard("a100") == 2, 60, "two are here")
        fleet.kill()  # What it has begun is found by its name.
        fleet.serve()
        self.assertEqual(fleet.ask("fleet", "remove", "a100")["jobs"], 2)
        wait_until(lambda: not fleet.ask("fleet", "status")["pools"], 60, "it is gone")
        self.assertNotIn("RUNNING", fleet.states())
        self.assertNotIn("PENDING", fleet.states())
        wait_until(lambda: fleet.counts(sweep)["leased"] == 0, 60, "its workers have left")
        self.assertEqual(fleet.counts(sweep)["failed"], 0)
        fleet.add("a100")  # Its name is free again.

    def test_a_pool_that_is_paused_begins_nothing(self) -> None:
        fleet = self.fleet()
        fleet.add_seen("a100")
        fleet.wait_until_empty("a100")
        self.assertIn("paused by", fleet.ask("fleet", "pause", "a100")["standing"])
        sweep = fleet.submit("a100", 2)
        before = len(fleet.states())
        polls = fleet.polls()
        wait_until(lambda: fleet.polls() >= polls + 3, 60, "it was looked at again")
        self.assertEqual(len(fleet.states()), before)
        fleet.ask("fleet", "resume", "a100")
        fleet.wait_for(sweep)

    def test_workers_that_fail_pause_the_pool_and_their_words_are_told(self) -> None:
        fleet = self.fleet()
        fleet.add("a100", "--prologue=echo out of luck >&2; exit 3", "--max=2")
        wait_until(lambda: fleet.pool("a100")["state"] == "paused", 60, "it is paused")
        self.assertRegex(fleet.pool("a100")["standing"],
                         r"its last 3 workers failed, the last one \(a100-.*\) with FAILED")
        self.assertEqual(fleet.states().count("FAILED"), 3)
        self.assertIn("out of luck", fleet.ask("fleet", "logs", "a100")["text"])
        fleet.ask("fleet", "resume", "a100")
        wait_until(lambda: fleet.states().count("FAILED") >= 6, 60, "three more were tried")

    def test_a_worker_of_another_class_pauses_the_pool(self) -> None:
        fleet = self.fleet()
        fleet.add("h100", "--class=h100", "--worker=--declare=a100")
        wait_until(lambda: fleet.pool("h100")["state"] == "paused", 60, "it is paused")
        self.assertRegex(fleet.pool("h100")["standing"], "has no h100 but a100")
        fleet.wait_until_empty("h100")

    def test_a_job_that_waits_says_why(self) -> None:
        fleet = self.fleet()
        fleet.add_seen("a100", "--max=1")
        fleet.wait_until_empty("a100")
        for name, *_ in NODES:
            self.cluster.run("scontrol", "update", f"nodename={name}", "state=drain", "reason=x")
        try:
            sweep = fleet.submit("a100", 1)
            wait_until(lambda: fleet.pool("a100")["standing"].startswith(
                "waits for the cluster: Nodes required for job are DOWN"), 60, "it says why")
            self.assertEqual(fleet.pool("a100")["state"], "active")
        finally:
            for name, *_ in NODES:
                self.cluster.run("scontrol", "update", f"nodename={name}", "state=resume",
                                 code=None)
        fleet.wait_for(sweep)

    def test_a_warning_lets_what_runs_finish(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100")
        sweep = fleet.submit("a100", 2, "slow", "steps: 30")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        job = fleet.pool("a100")["launches"][0]["job"]
        self.cluster.run("scancel", "--batch", "--signal=USR1", job)
        wait_until(lambda: fleet.state_of(job) == "COMPLETED", 60, "it has left")
        self.assertEqual(fleet.counts(sweep)["done"], 1)
        fleet.wait_for(sweep)
        self.assertEqual(fleet.rows("SELECT count(*) FROM v_attempt"), [[4]])

    def test_what_is_cancelled_from_outside_goes_on_elsewhere(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100")
        sweep = fleet.submit("a100", 1, "slow", "steps: 60")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        self.cluster.run("scancel", fleet.pool("a100")["launches"][0]["job"])
        fleet.wait_for(sweep)
        causes = fleet.rows("SELECT DISTINCT cause FROM v_attempt WHERE NOT accepted")
        self.assertIn(causes, ([["interrupted"]], [["lost_worker"]], [[""], ["interrupted"]]))
        self.assertEqual(fleet.pool("a100")["state"], "active")


class Storms(Pools):
    @unittest.skipUnless(ALL, "takes a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_preempted_members_go_on(self) -> None:
        fleet = self.fleet()
        fleet.slow("v100", "--partition=scavenge", "--gres=gpu:v100:1")
        sweep = fleet.submit("v100", 1, "slow", "steps: 500")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        urgent = self.cluster.submit("sleep 2", "-p", "urgent", "--gres=gpu:v100:1")
        wait_until(lambda: fleet.state_of(urgent) == "COMPLETED", 90, "the urgent one ran")
        fleet.wait_for(sweep)
        # It may be told as TIMEOUT: its grace is over.
        self.assertEqual(len({"PREEMPTED", "TIMEOUT"} & set(fleet.states())), 1, fleet.states())
        self.assertIn(["interrupted"], fleet.rows("SELECT cause FROM v_attempt WHERE NOT accepted"))
        self.assertEqual(fleet.pool("v100")["state"], "active")

    def test_a_zombie_of_a_dead_node_does_no_harm(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100", "--gres=gpu:a100:1")
        sweep = fleet.submit("a100", 3, "slow", "steps: 40")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        self.cluster.kill("slurmd-nfa100")
        self.cluster.run("scontrol", "update", "nodename=nfa100", "state=down", "reason=x")
        wait_until(lambda: "NODE_FAIL" in fleet.states(), 60, "Slurm has given it up")
        # Its worker knows nothing of that, and trains on.
        fleet.wait_for(sweep)
        self.cluster.start("slurmd-nfa100")
        self.cluster.wait_for_nodes()
        self.assertEqual(fleet.rows("SELECT member, count(*) FROM v_attempt WHERE accepted "
                                    "GROUP BY 1 HAVING count(*) > 1"), [])

    def test_a_job_that_the_controller_forgot_is_asked_for_again(self) -> None:
        """And its number, which a stranger has by then, is not cancelled."""
        fleet = self.fleet()
        fleet.add_seen("a100")
        fleet.wait_until_empty("a100")
        # sbatch is answered, and before anybody polls the controller dies and has forgotten it.
        fleet.wrap("sbatch", "answer=$(REAL \"$@\") && kill -9 $(cat FOLDER/ctld)\n"
                             "rm FOLDER/wrap; printf '%s\\n' \"$answer\" | tee FOLDER/answer")
        fleet.write("ctld", str(self.cluster.pid("slurmctld")))
        sweep = fleet.submit("a100", 2)
        wait_until(lambda: os.path.exists(fleet.path("answer")), 60, "it was submitted")
        self.cluster.forget("slurmctld")
        self.cluster.start("slurmctld")
        self.cluster.wait_for_nodes()
        with open(fleet.path("answer"), encoding="utf-8") as file:
            forgotten = file.read().strip()
        self.cluster.submit("exec sleep 600", "-J", "stranger")
        fleet.wait_for(sweep)
        fleet.ask("fleet", "remove", "a100")
        wait_until(lambda: not fleet.ask("fleet", "status")["pools"], 60, "it is gone")
        stranger, = [job for job in self.cluster.jobs() if job["name"] == "stranger"]
        self.assertEqual(stranger["state"], "RUNNING", f"{stranger} {forgotten}")

    def test_a_coordinator_killed_before_the_answer_finds_its_job_by_name(self) -> None:
        fleet = self.fleet()
        fleet.add_seen("a100")
        fleet.wait_until_empty("a100")
        before = len(fleet.states())
        fleet.wrap("sbatch", "REAL \"$@\" >/dev/null; rm FOLDER/wrap\n"
                             "kill -9 $(cat FOLDER/coordinator)")
        fleet.write("coordinator", str(fleet.process))
        sweep = fleet.submit("a100", 2)
        wait_until(lambda: not os.path.exists(fleet.path("wrap")), 60, "sbatch was called")
        fleet.kill()
        self.assertEqual(len(fleet.states()), before + 1)
        fleet.serve()
        fleet.wait_for(sweep)
        self.assertEqual(len(fleet.states()), before + 1, "it was submitted once")

    def test_a_cluster_that_does_not_answer_takes_nothing_away(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100")
        sweep = fleet.submit("a100", 2, "slow", "steps: 100")
        # A job that has just begun is forgotten by a controller that dies: not this one.
        wait_until(lambda: fleet.counts(sweep)["done"] == 2, 60, "two have trained")
        self.cluster.kill("slurmctld")
        wait_until(lambda: fleet.ask("fleet", "status")["cluster_problem"], 60, "it is told")
        self.assertEqual(fleet.heard("a100"), 1)
        self.cluster.start("slurmctld")
        self.cluster.wait_for_nodes()
        wait_until(lambda: not fleet.ask("fleet", "status")["cluster_problem"], 60, "it is back")
        fleet.wait_for(sweep)
        self.assertEqual(fleet.rows("SELECT count(*) FROM v_attempt WHERE NOT accepted"), [[0]])

    def test_a_poisoned_environment_changes_nothing_and_no_secret_leaves(self) -> None:
        fleet = self.fleet(SQUEUE_STATES="PD", SBATCH_PARTITION="nosuch", SLURM_JOB_ID="1",
                           SCANCEL_STATE="PENDING", NF_SECRET="hush")
        fleet.add("a100", "--prologue=env")
        wait_until(lambda: fleet.heard("a100") == 1, 60, "one is here")
        self.assertTrue(fleet.pool("a100")["launches"][0]["job"])
        name = fleet.pool("a100")["launches"][0]["worker"]
        fleet.wait_until_empty("a100")
        text = fleet.ask("fleet", "logs", "a100", name)["text"]
        self.assertIn("SLURM_JOB_ID=", text)
        self.assertNotIn("hush", text)
        self.assertNotIn("SQUEUE_STATES", text)


if __name__ == "__main__":
    unittest.main()
