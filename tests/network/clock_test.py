"""Workers whose clocks are wrong by minutes train as others do, and people are told."""

from __future__ import annotations

import datetime
import glob
import os
import re
import sys
import unittest

from world import SOURCE, World

FOUND = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
# As a trainer's interpreter: with the clock that its worker has. The same program for all of them.
PYTHON = """\
#!/bin/sh
if [ -n "$NOISEFLOOR_TEST_OFFSET" ]; then
  export LD_PRELOAD={library} FAKETIME="$NOISEFLOOR_TEST_OFFSET"
  export DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1
fi
export PYTHONPATH="{site}:$PYTHONPATH"
exec {python} "$@"
"""
# libfaketime refuses the call by which time.sleep waits for a steady clock.
SITE = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds)\n"


def off_by(offset: str) -> dict[str, str]:
    """Steady clocks stay: they are of the machine, whatever its calendar says."""
    return {"LD_PRELOAD": FOUND[0], "FAKETIME": offset, "NOISEFLOOR_TEST_OFFSET": offset,
            "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@unittest.skipUnless(FOUND, "no libfaketime: deploy/setup --check")
class Clocks(unittest.TestCase):
    def test_ten_minutes_before_and_behind(self) -> None:
        world = World(self)
        world.serve()
        python = world.path("python")
        with open(python, "w", encoding="utf-8") as file:
            file.write(PYTHON.format(library=FOUND[0], python=sys.executable,
                                     site=world.path("site")))
        os.chmod(python, 0o755)
        os.mkdir(world.path("site"))
        with open(world.path("site/sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(SITE)
        trainer = f"slow={python} {SOURCE}/tests/slurm/slow.py"
        world.worker("ahead", trainer=trainer, **off_by("+10m"))
        world.worker("behind", trainer=trainer, **off_by("-10m"))
        world.worker("right", trainer=trainer)
        world.wait_for_workers(3)
        sweep = world.submit(6, more="steps: 20")
        world.wait_for_end(sweep)

        rows = world.rows("SELECT worker, attempt, outcome, accepted, train_seconds, granted_utc, "
                          "ended_utc FROM v_attempt ORDER BY lease")
        self.assertEqual({row[0] for row in rows}, {"ahead", "behind", "right"}, rows)
        self.assertEqual([row[1:4] for row in rows], [[1, "done", 1]] * 6, "no lease was lost")
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
        for worker, _, _, _, seconds, granted, ended in rows:
            self.assertGreater(seconds, 0.9, worker)  # 20 steps of 0.05 s.
            self.assertLess(seconds, 60, worker)
            begun, left = (datetime.datetime.fromisoformat(text) for text in (granted, ended))
            self.assertLessEqual(begun, left, worker)
            self.assertLess(abs((now - left).total_seconds()), 120, worker)
        told = dict(re.findall(r"worker_clock worker=(\S+) ahead_s=(-?\d+)", world.said("serve")))
        self.assertEqual(set(told), {"ahead", "behind"}, world.said("serve"))
        self.assertAlmostEqual(int(told["ahead"]), 600, delta=20)
        self.assertAlmostEqual(int(told["behind"]), -600, delta=20)

    def test_doctor_on_such_a_machine_says_so(self) -> None:
        world = World(self)
        world.serve()
        asked = world.run("doctor", NOISEFLOOR_ACCESS=f"{world.access}/admin.access",
                          **off_by("+10m"))
        self.assertRegex(asked.stdout, r"the coordinator's is \d+\.\d+ s behind this machine's")


if __name__ == "__main__":
    unittest.main()
