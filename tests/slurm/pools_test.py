"""Pools of workers on a real Slurm: they come when members wait, and go."""

from __future__ import annotations

import unittest

from cluster import NODES, wait_until
from fleet import Pools


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

    def test_a_poisoned_environment_changes_nothing_and_no_secret_leaves(self) -> None:
        fleet = self.fleet(SQUEUE_STATES="PD", SBATCH_PARTITION="nosuch", SLURM_JOB_ID="1",
                           SCANCEL_STATE="PENDING", NF_SECRET="hush")
        fleet.add("a100", "--prologue=env", "--idle=10s")
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
