"""Coordinators that never meet: what each trained on its own class is one study."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from typing import Any

from world import BIN, World

CLASSES = ("class-a", "class-b", "class-c")
SWEEP = """\
name: everywhere
seed: 11
stack: slow
hardware: [{hardware}]
pause: 0.001
axes:
  steps: [3, 5]
noise: [control, {{name: start, init: free, augment: fixed}}]
replicates: 2
"""
# What is of the hour, the machine or the file, and of nothing that was trained.
OF_THE_DAY = {"seconds", "unit", "file", "specification_sha256", "submitted_unix_seconds",
              "ended_unix_seconds", "environment"}


def without_the_day(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_the_day(one) for key, one in value.items() if key not in OF_THE_DAY}
    return [without_the_day(one) for one in value] if isinstance(value, list) else value


class Sites(unittest.TestCase):
    def site(self, *classes: str) -> str:
        """A coordinator of its own that trains the sweep on these classes; what it exports."""
        world = World(self)
        world.serve()
        for name in classes:
            world.worker(name, declare=name)
        world.wait_for_workers(len(classes))
        with open(world.path("sweep.yaml"), "w", encoding="utf-8") as file:
            file.write(SWEEP.format(hardware=", ".join(classes)))
        sweep = str(world.ask("submit", world.path("sweep.yaml"))["sweep"])
        world.wait_for_end(sweep)
        world.ask("export", sweep, f"--to={world.path('out')}")
        return world.path("out")

    def test_three_sites_are_the_study_of_one(self) -> None:
        folders = [self.site(name) for name in CLASSES]
        done = subprocess.run([os.path.join(BIN, "noisefloor"), "merge", *folders, "--form=json"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        merged = json.loads(done.stdout)
        with open(os.path.join(self.site(*CLASSES), "study.json"), encoding="utf-8") as file:
            single = json.load(file)
        self.assertEqual(json.dumps(without_the_day(merged), indent=1),
                         json.dumps(without_the_day(single), indent=1))
        self.assertEqual(len(merged["members"]), 2 * 2 * 3 * 2)
        self.assertTrue(any(one["churn_paired"]["n"] > 0 for one in merged["hardware"]),
                        "replicates of different sites are pairs")


if __name__ == "__main__":
    unittest.main()
