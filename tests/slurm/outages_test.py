"""Jobs that others end, nodes and controllers that die, on a real Slurm."""

from __future__ import annotations

import os
import time
import unittest

from cluster import wait_until
from fleet import ALL, Pools


class Ends(Pools):
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


class TimeLimits(Pools):
    @unittest.skipUnless(ALL, "takes five minutes: NOISEFLOOR_SLURM_ALL=1")
    def test_what_would_not_end_before_its_job_does_is_not_begun(self) -> None:
        # Slurm warns 65 s before the end: a member of 100 s would begin before, and be cut off.
        fleet = self.fleet()
        fleet.slow("a100", "--gres=gpu:a100:1", "--time=3m", "--drain-before=5s")
        sweep = fleet.submit("a100", 1, "slow", "steps: 10\npause: 10.0\nkeeps: false")
        wait_until(lambda: fleet.counts(sweep)["done"] == 1, 200, "the first one has trained")
        fleet.wait_for(sweep, 300)
        self.assertEqual(fleet.rows("SELECT count(*), sum(accepted) FROM v_attempt"), [[2, 2]])
        self.assertEqual(fleet.rows("SELECT count(DISTINCT worker) FROM v_attempt"), [[2]])


class Outages(Pools):
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

    def test_a_node_that_is_taken_down_costs_an_attempt(self) -> None:
        """Its slurmd lives, and ends what runs; the node is there again at once."""
        fleet = self.fleet()
        fleet.slow("a100", "--gres=gpu:a100:1")
        sweep = fleet.submit("a100", 1, "slow", "steps: 60")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        self.cluster.run("scontrol", "update", "nodename=nfa100", "state=down", "reason=x")
        wait_until(lambda: "NODE_FAIL" in fleet.states(), 60, "Slurm has ended it")
        self.cluster.wait_for_nodes()
        fleet.wait_for(sweep)
        self.assertEqual(fleet.rows("SELECT count(*) FROM v_launch WHERE ending = 'taken'"), [[1]])
        self.assertLessEqual(fleet.rows("SELECT max(attempt) FROM v_member"), [[2]])
        self.assertEqual(fleet.pool("a100")["state"], "active")

    @unittest.skipUnless(ALL, "takes half a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_a_job_that_a_site_starts_again_is_a_new_worker(self) -> None:
        """Ours say --no-requeue; some sites turn it on again."""
        fleet = self.fleet()
        fleet.slow("a100", "--gres=gpu:a100:1")
        sweep = fleet.submit("a100", 1, "slow", "steps: 300")
        wait_until(lambda: fleet.counts(sweep)["leased"] == 1, 60, "one trains")
        launch = fleet.pool("a100")["launches"][0]
        self.cluster.run("scontrol", "update", f"jobid={launch['job']}", "requeue=1")
        self.cluster.run("scontrol", "requeue", launch["job"])
        wait_until(lambda: fleet.rows(
            f"SELECT 1 FROM v_attempt WHERE worker = '{launch['worker']}-r1'"), 90, "it is back")
        fleet.wait_for(sweep)
        fleet.wait_until_empty("a100")
        self.assertEqual(fleet.rows("SELECT count(*) FROM v_attempt WHERE accepted"), [[2]])
        self.assertEqual(fleet.rows(
            f"SELECT count(*), min(ending) FROM v_launch WHERE worker = '{launch['worker']}'"),
            [[1, "well"]])

    @unittest.skipUnless(ALL, "takes three minutes: NOISEFLOOR_SLURM_ALL=1")
    def test_a_time_limit_is_warned_of_and_what_it_ends_goes_on(self) -> None:
        """Slurm's clock has 30 s between two ticks: the warning may come so much early."""
        fleet = self.fleet()
        fleet.slow("a100", "--time=1m", "--drain-before=5s")
        sweep = fleet.submit("a100", 1, "slow", "steps: 1800")  # Each 90 s; the limit is a minute.
        fleet.wait_for(sweep, 400)
        fleet.wait_until_empty("a100")
        ends = fleet.rows("SELECT DISTINCT ending FROM v_launch ORDER BY 1")
        self.assertLessEqual({end for end, in ends}, {"well", "surplus"})
        self.assertIn("TIMEOUT", fleet.states())
        self.assertEqual(fleet.rows("SELECT DISTINCT cause FROM v_attempt WHERE NOT accepted"),
                         [["interrupted"]])
        self.assertEqual(fleet.pool("a100")["state"], "active")

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
                             "rm WRAP; printf '%s\\n' \"$answer\" | tee FOLDER/answer")
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

    def test_a_cluster_that_does_not_answer_takes_nothing_away(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100")
        sweep = fleet.submit("a100", 2, "slow", "steps: 100")
        wait_until(lambda: fleet.counts(sweep)["done"] == 1, 60, "one has trained")
        self.cluster.wait_until_kept(fleet.pool("a100")["launches"][0]["job"])
        self.cluster.kill("slurmctld")
        wait_until(lambda: fleet.ask("fleet", "status")["cluster_problem"], 60, "it is told")
        self.assertEqual(fleet.heard("a100"), 1)
        self.cluster.start("slurmctld")
        self.cluster.wait_for_nodes()
        wait_until(lambda: not fleet.ask("fleet", "status")["cluster_problem"], 60, "it is back")
        fleet.wait_for(sweep)
        self.assertEqual(fleet.lost(), [])

    @unittest.skipUnless(ALL, "takes a minute and a half: NOISEFLOOR_SLURM_ALL=1")
    def test_a_minute_without_the_controller_costs_no_attempt(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100", "--max=2")
        sweep = fleet.submit("a100", 60, "slow", "steps: 20")  # Two workers have a minute and more.
        wait_until(lambda: fleet.counts(sweep)["done"] >= 10, 60, "some have trained")
        here = fleet.heard("a100")
        for launch in fleet.pool("a100")["launches"]:
            self.cluster.wait_until_kept(launch["job"])
        self.cluster.kill("slurmctld")
        begun = time.monotonic()
        wait_until(lambda: fleet.ask("fleet", "status")["cluster_problem"], 60, "it is told")
        done = fleet.counts(sweep)["done"]
        while time.monotonic() < begun + 60:
            self.assertEqual(fleet.heard("a100"), here)
            self.assertEqual(fleet.pool("a100")["state"], "active")
            time.sleep(1)
        self.assertGreater(fleet.counts(sweep)["done"], done + 10, "they went on")
        self.cluster.start("slurmctld")
        self.cluster.wait_for_nodes()
        wait_until(lambda: not fleet.ask("fleet", "status")["cluster_problem"], 60, "it is back")
        fleet.wait_for(sweep)
        self.assertEqual(fleet.lost(), [])
        fleet.wait_until_empty("a100")
        self.assertLessEqual({row[0] for row in fleet.rows("SELECT ending FROM v_launch")},
                             {"well", "surplus"})

    def test_a_coordinator_is_stopped_though_its_cluster_is_silent(self) -> None:
        fleet = self.fleet()
        fleet.slow("a100", "--max=3", "--gres=gpu:a100:1")
        sweep = fleet.submit("a100", 3, "slow", "steps: 400")
        wait_until(lambda: fleet.heard("a100") == 2, 60, "two are here")
        for launch in fleet.pool("a100")["launches"]:
            if fleet.state_of(launch["job"]) == "RUNNING":
                self.cluster.wait_until_kept(launch["job"])
        self.cluster.kill("slurmctld")
        try:
            fleet.ask("fleet", "remove", "a100")
            begun = time.monotonic()
            fleet.stop()
            self.assertLess(time.monotonic() - begun, 45, "it has asked again and again")
        finally:
            self.cluster.start("slurmctld")
            self.cluster.wait_for_nodes()
        fleet.serve()
        wait_until(lambda: not fleet.ask("fleet", "status")["pools"], 60, "it is gone")
        self.assertEqual(fleet.counts(sweep)["failed"], 0)


if __name__ == "__main__":
    unittest.main()
