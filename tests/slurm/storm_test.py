"""A study of 200 members on two types of GPU, in calm and in storms: the results are the same.

Jobs are preempted, cancelled and killed, nodes die, with workers that live on and without, Slurm's
controller and the coordinator are killed. NOISEFLOOR_STORM_SEED repeats the choices of one storm,
though never its exact moments; NOISEFLOOR_STORM_ROUNDS says how many there are.
"""

from __future__ import annotations

import collections
import os
import random
import re
import signal
import sqlite3
import sys
import time
import unittest
from typing import Any

from cluster import Cluster, wait_until
from fleet import ALL, Fleet, Pools

REPLICATES = 50  # Of two plans on two classes.
ROUNDS = int(os.environ.get("NOISEFLOOR_STORM_ROUNDS", "1"))
SEED = int(os.environ.get("NOISEFLOOR_STORM_SEED", "1"))
NODES = ("nfv100", "nfa100")
MOST_S = 1500
# What members are compared by: of accepted attempts alone.
RESULTS = {
    "hashes": "SELECT member, hash, sha256 FROM v_hash WHERE accepted",
    "measures": "SELECT member, metric, value, special FROM v_metric WHERE accepted",
    "records": "SELECT member, metric, step, value FROM v_record WHERE accepted",
    "files": "SELECT member, kind, sha256 FROM v_artifact WHERE accepted AND kind IN "
             "('predictions', 'weights')",
}


class Study:
    """One sweep on two pools, one of which may be preempted at any time."""

    def __init__(self, test: unittest.TestCase, cluster: Cluster) -> None:
        self.test, self.cluster, self.fleet = test, cluster, Fleet(test, cluster)
        self.fleet.slow("v100", "--partition=scavenge", "--gres=gpu:v100:1", "--max=2")
        self.fleet.slow("a100", "--gres=gpu:a100:1", "--max=3")
        self.sweep = self.fleet.submit("v100, a100", REPLICATES, "slow",
                                       "steps: 10\npause: 0.03\nseed: 7", name="storm")
        self.begun = time.monotonic()

    def rows(self, sql: str) -> list[Any]:
        """Beside the coordinator, whether it lives or not."""
        with sqlite3.connect(f"file:{self.fleet.home}/noisefloor.db?mode=ro", uri=True) as store:
            found = store.execute(sql).fetchall()
        store.close()
        return found

    def ended(self) -> bool:
        self.test.assertLess(time.monotonic() - self.begun, MOST_S, self.fleet.said())
        states = dict(self.rows("SELECT state, count(*) FROM v_member GROUP BY 1"))
        self.test.assertNotIn("failed", states)
        return states == {"done": 4 * REPLICATES}

    def results(self) -> dict[str, list[Any]]:
        return {name: sorted(self.rows(sql), key=repr) for name, sql in RESULTS.items()}

    def check_the_end(self) -> None:
        """Each member has one result, and nothing of ours is left on the cluster."""
        self.test.assertEqual(
            self.rows("SELECT count(*), count(DISTINCT member) FROM v_attempt WHERE accepted"),
            [(4 * REPLICATES, 4 * REPLICATES)])
        for name in ("v100", "a100"):
            self.fleet.ask("fleet", "remove", name)
        wait_until(lambda: not self.fleet.ask("fleet", "status")["pools"], 120, "both are gone")
        live = [job for job in self.cluster.jobs() if job["name"].startswith("nf-")
                and job["state"] in ("PENDING", "RUNNING", "COMPLETING")]
        self.test.assertEqual(live, [])
        wait_until(lambda: not processes(self.cluster), 60, "no process of a job is left")

    def told(self) -> str:
        causes = self.rows("SELECT CASE WHEN accepted THEN 'accepted' ELSE coalesce(nullif(cause, "
                           "''), outcome) END, count(*) FROM v_attempt GROUP BY 1 ORDER BY 2 DESC")
        ends = self.rows("SELECT ending, count(*) FROM v_launch GROUP BY 1 ORDER BY 2 DESC")
        return (f"{time.monotonic() - self.begun:.0f} s; attempts {dict(causes)}, "
                f"jobs {dict(ends)}")


def processes(cluster: Cluster, program: str = "") -> list[int]:
    """Of jobs of the cluster; those that run the program alone, if one is named."""
    ours = b"SLURM_CONF=" + os.fsencode(cluster.environment()["SLURM_CONF"])
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            of_job = any(one.startswith(b"SLURM_JOB_ID=") for one in variables)
            if ours in variables and of_job and os.readlink(f"/proc/{name}/exe").endswith(program):
                found.append(int(name))
        except OSError:
            continue
    return sorted(found)


class Storm:
    """What goes wrong while the study runs, as a seed says."""

    def __init__(self, study: Study, seed: int) -> None:
        self.study, self.cluster, self.random = study, study.cluster, random.Random(seed)
        self.happened: collections.Counter[str] = collections.Counter()
        self.urgent = ""
        self.zombies: dict[str, float] = {}  # Nodes whose slurmd is dead: until when.

    def blow(self) -> None:
        kinds = (self.preempt, self.cancel, self.node_down, self.zombie, self.controller,
                 self.coordinator, self.kill_worker)
        while not self.study.ended():
            time.sleep(self.random.uniform(0.5, 3))  # A draw of the storm, not a wait.
            self.revive()
            self.forgive()
            self.random.choice(kinds)()
        self.revive(all_of_them=True)
        self.forgive()

    def count(self, what: str) -> None:
        self.happened[what] += 1

    def running(self) -> list[dict[str, str]]:
        return [job for job in self.cluster.jobs()
                if job["name"].startswith("nf-") and job["state"] == "RUNNING"]

    def preempt(self) -> None:
        """By a job of a higher partition, one at a time."""
        states = {job["key"]: job["state"] for job in self.cluster.jobs()}
        if states.get(self.urgent) in ("PENDING", "RUNNING"):
            return
        kind = self.random.choice(("gpu:v100:1", "gpu:a100:2"))
        self.urgent = self.cluster.submit("sleep 2", "-p", "urgent", f"--gres={kind}")
        self.count("urgent jobs")

    def cancel(self) -> None:
        if jobs := self.running():
            self.cluster.run("scancel", self.random.choice(jobs)["key"])
            self.count("jobs cancelled")

    def node_down(self) -> None:
        node = self.random.choice(NODES)
        if node in self.zombies:
            return
        self.cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=storm")
        self.count("nodes down")

    def zombie(self) -> None:
        """The node is given up, and its workers know nothing of that."""
        node = self.random.choice(NODES)
        if self.zombies:
            return
        self.cluster.kill(f"slurmd-{node}")
        self.cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=storm")
        self.zombies[node] = time.monotonic() + self.random.uniform(2, 20)
        self.count("nodes dead with workers that live on")

    def revive(self, all_of_them: bool = False) -> None:
        for node, until in list(self.zombies.items()):
            if all_of_them or time.monotonic() > until:
                self.cluster.start(f"slurmd-{node}")
                del self.zombies[node]
                self.cluster.wait_for_nodes()

    def controller(self) -> None:
        self.revive(all_of_them=True)
        self.cluster.kill("slurmctld")
        self.cluster.start("slurmctld")
        self.cluster.wait_for_nodes()
        self.count("controllers killed")

    def coordinator(self) -> None:
        self.study.fleet.kill()
        self.study.fleet.serve()
        self.count("coordinators killed")

    def kill_worker(self) -> None:
        if found := processes(self.cluster, "/noisefloor-worker"):
            try:
                os.kill(self.random.choice(found), signal.SIGKILL)
                self.count("workers killed")
            except ProcessLookupError:
                pass

    def forgive(self) -> None:
        """Three workers killed one after the other pause their pool, and that is right."""
        for name in ("v100", "a100"):
            pool = self.study.fleet.pool(name)
            if pool["state"] == "paused":
                self.study.test.assertTrue(
                    re.search("its last [0-9]+ workers failed", pool["standing"]), pool)
                self.study.fleet.ask("fleet", "resume", name)
                self.count("pools paused and resumed")


@unittest.skipUnless(ALL, "takes a quarter of an hour: NOISEFLOOR_SLURM_ALL=1")
class Storms(Pools):
    def test_calm_equals_storm(self) -> None:
        calm = Study(self, self.cluster)
        wait_until(calm.ended, MOST_S, "it is done")
        self.assertEqual(calm.rows("SELECT count(*) FROM v_attempt WHERE NOT accepted"), [(0,)])
        wanted = calm.results()
        self.assertEqual(len(wanted["records"]), 4 * REPLICATES * 13)
        print(f"calm: {calm.told()}", file=sys.stderr, flush=True)
        calm.check_the_end()
        calm.fleet.stop()
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                cluster = Cluster()
                self.addCleanup(cluster.stop)
                study = Study(self, cluster)
                storm = Storm(study, seed)
                storm.blow()
                print(f"storm {seed}: {study.told()}; {dict(storm.happened)}", file=sys.stderr,
                      flush=True)
                for name, rows in wanted.items():
                    self.assertEqual(study.results()[name], rows, name)
                study.check_the_end()
                study.fleet.stop()


if __name__ == "__main__":
    unittest.main()
