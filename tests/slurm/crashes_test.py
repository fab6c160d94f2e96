"""A coordinator that is killed at each point between what it decides and what Slurm does of it."""

from __future__ import annotations

import unittest

from cluster import NODES, wait_until
from fleet import ALL, Fleet, Pools

# Where it dies, and what stands in for the program there.
BEFORE_SBATCH = "rm WRAP; kill -9 COORDINATOR; exit 1"
AFTER_SBATCH = "REAL \"$@\" >/dev/null; rm WRAP; kill -9 COORDINATOR"
BEFORE_IT_IS_SEEN = ("answer=$(REAL \"$@\"); printf 'kill -9 COORDINATOR; rm FOLDER/wrap.squeue; "
                     "exit 1' >FOLDER/wrap.squeue; rm WRAP; echo \"$answer\"")
BEFORE_SCANCEL = BEFORE_SBATCH
AFTER_SCANCEL = "REAL \"$@\"; rm WRAP; kill -9 COORDINATOR"


class Crashes(Pools):
    def known(self) -> Fleet:
        fleet = self.fleet()
        fleet.add_seen("a100")
        fleet.wait_until_empty("a100")
        return fleet

    def launched_once(self, fleet: Fleet, script: str) -> None:
        """A sweep whose one job meets that; it is there once, or, submitted or not, not twice."""
        before = len(fleet.states())
        fleet.wrap("sbatch", script)
        sweep = fleet.submit("a100", 2, name=f"sweep-{before}")
        fleet.wait_for_the_end()
        fleet.serve()
        fleet.wait_for(sweep)
        self.assertEqual(len(fleet.states()), before + 1, "it was submitted once")
        fleet.wait_until_empty("a100")

    def test_before_it_has_asked_it_asks_again(self) -> None:
        self.launched_once(self.known(), BEFORE_SBATCH)

    def test_before_the_answer_it_finds_its_job_by_name(self) -> None:
        self.launched_once(self.known(), AFTER_SBATCH)

    @unittest.skipUnless(ALL, "takes half a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_after_the_answer_again_and_again(self) -> None:
        fleet = self.known()
        for script in (BEFORE_IT_IS_SEEN, BEFORE_SBATCH, BEFORE_IT_IS_SEEN, AFTER_SBATCH):
            self.launched_once(fleet, script)

    @unittest.skipUnless(ALL, "takes half a minute: NOISEFLOOR_SLURM_ALL=1")
    def test_what_it_takes_back_is_gone_whether_it_lives_to_see_it(self) -> None:
        fleet = self.known()
        for name, *_ in NODES:
            self.cluster.run("scontrol", "update", f"nodename={name}", "state=drain", "reason=x")
        try:
            for script in (BEFORE_SCANCEL, AFTER_SCANCEL):
                sweep = fleet.submit("a100", 2, name=f"sweep-{len(fleet.states())}")
                wait_until(lambda: "PENDING" in fleet.states(), 60, "one waits")
                fleet.wrap("scancel", script)
                fleet.ask("cancel", f"s{sweep}")
                fleet.wait_for_the_end()
                fleet.serve()
                wait_until(lambda: "PENDING" not in fleet.states(), 60, "it is taken back")
        finally:
            for name, *_ in NODES:
                self.cluster.run("scontrol", "update", f"nodename={name}", "state=resume",
                                 code=None)
        self.assertEqual(fleet.pool("a100")["launches"], [])
        fleet.wait_for(fleet.submit("a100", 2, name="after"))


if __name__ == "__main__":
    unittest.main()
