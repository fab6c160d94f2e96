"""What a cluster refuses, and workers that are not what they should be: told, and paused."""

from __future__ import annotations

import os
import shutil
import unittest

from cluster import wait_until
from fleet import BIN, Fleet, Pools

FAKE_GPUS = os.path.join(os.path.dirname(BIN), "tests/support/fake_gpus")  # For LD_LIBRARY_PATH.


class Refusals(Pools):
    def test_the_dry_run_says_what_the_cluster_says(self) -> None:
        fleet = self.fleet()
        for words, said in (
                (("--gres=gpu:h100:1",), "Requested node configuration is not available"),
                (("--gres=gpu:v100:2",), "Requested node configuration is not available"),
                (("--sbatch=--constraint=h100",), "Invalid feature specification"),
                (("--partition=nosuch",), "invalid partition specified: nosuch"),
                (("--sbatch=-c64",), "Requested node configuration is not available"),
                (("--sbatch=--mem=100G",), "Requested node configuration is not available"),
                (("--sbatch=--time=banana",), "Invalid --time specification"),
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

    def test_a_folder_of_logs_that_cannot_be_written_is_told(self) -> None:
        """Slurm takes such a job, and ends it without a word to anybody."""
        fleet = self.fleet()
        fleet.add_seen("a100", f"--logs={fleet.folder}/logs")
        fleet.wait_until_empty("a100")
        before = len(fleet.states())
        shutil.rmtree(fleet.path("logs"))
        fleet.write("logs", "a file")
        sweep = fleet.submit("a100", 1)
        wait_until(lambda: "the cluster has refused its jobs" in fleet.pool("a100")["standing"], 60,
                   "it is told")
        self.assertRegex(fleet.pool("a100")["standing"], f"its logs: .*{fleet.folder}/logs")
        self.assertEqual(len(fleet.states()), before, "none was submitted")
        os.remove(fleet.path("logs"))
        fleet.ask("fleet", "resume", "a100")
        fleet.wait_for(sweep)


class SmallArrays(Pools):
    CONF = {"MaxArraySize": "4"}  # Places are numbered 0 to 3.

    def test_more_than_an_array_may_have_come_in_several(self) -> None:
        fleet = self.fleet()
        fleet.slow("plain-1", "--max=8", "--backlog=8", "--gres=gpu:0")
        sweep = fleet.submit("plain-1", 6, "slow", "steps: 100")
        wait_until(lambda: fleet.heard("plain-1") == 8, 60, "eight are here")
        self.assertEqual(fleet.pool("plain-1")["state"], "active")
        fleet.wait_for(sweep)
        self.assertEqual(fleet.rows("SELECT count(*) FROM v_launch WHERE ending = 'gone'"), [[0]])


class Workers(Pools):
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
    def test_gpus_are_what_the_driver_says(self) -> None:
        """Played by a script: Slurm has given a GPU of another type than was asked for."""
        fleet = self.fleet()
        fleet.write("gpus", "gpu GPU-1 name=Tesla_V100-SXM2-32GB gib=32 capability=7.0\n")
        self.add_with_gpus(fleet, "a100", "--class=nvidia-a100-40gb")
        wait_until(lambda: fleet.pool("a100")["state"] == "paused", 60, "it is paused")
        self.assertRegex(fleet.pool("a100")["standing"], "nvidia-v100-32gb")

    def test_a_gpu_that_fails_is_told(self) -> None:
        fleet = self.fleet()
        fleet.write("gpus", "nvml 18\n")  # Driver and library have other versions.
        self.add_with_gpus(fleet, "a100", "--class=nvidia-a100-40gb")
        wait_until(lambda: fleet.pool("a100")["state"] == "paused", 60, "it is paused")
        said = fleet.pool("a100")["standing"] + fleet.ask("fleet", "logs", "a100")["text"]
        self.assertIn("Driver/library version mismatch", said)

    @staticmethod
    def add_with_gpus(fleet: Fleet, name: str, *words: str) -> None:
        fleet.add(name, f"--gres=gpu:{name}:1", *words,
                  f"--prologue=export LD_LIBRARY_PATH={FAKE_GPUS} "
                  f"NOISEFLOOR_FAKE_GPUS={fleet.folder}/gpus", trainer=f"fake={BIN}/fake-trainer",
                  declared=False)


if __name__ == "__main__":
    unittest.main()
