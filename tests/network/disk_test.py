"""Where files lie on a network: a home is refused, a worker's state is told of."""

from __future__ import annotations

import os
import unittest

from world import World

PRELOAD = os.path.join(os.path.dirname(os.environ["NOISEFLOOR_BIN"]),
                       "tests/support/network_disk/network-disk.so")
KINDS = {"6969": "nfs", "0BD00BD0": "lustre", "47504653": "gpfs", "FE534D42": "smb2",
         "01021997": "9p", "00C36400": "ceph", "19830326": "beegfs"}


class Disks(unittest.TestCase):
    def pretend(self, folder: str, kind: str) -> dict[str, str]:
        self.assertTrue(os.path.exists(PRELOAD), PRELOAD)
        return {"LD_PRELOAD": PRELOAD, "NETWORK_DISK": folder, "NETWORK_DISK_TYPE": kind}

    def test_a_home_there_is_refused_by_name(self) -> None:
        world = World(self)
        for kind, name in KINDS.items():
            home = world.path(name)
            done = world.run("serve", f"--home={home}", "--listen=127.0.0.1:0",
                             **self.pretend(world.folder, kind))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{home}: lies on a network file system ({name})", done.stderr)
            self.assertIn("choose a directory on a local disk", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(home, "noisefloor.db")))

    def test_a_worker_there_works_and_says_what_would_be_better(self) -> None:
        world = World(self)
        world.serve()
        world.worker("near")
        world.worker("far", **self.pretend(world.path("far"), "6969"))
        world.wait_for_workers(2)
        self.assertIn("state_on_network_file_system", world.said("far"))
        self.assertIn("file_system=nfs", world.said("far"))
        self.assertIn("--state-temporary", world.said("far"))
        self.assertNotIn("network_file_system", world.said("near"))
        world.stop("near")
        world.wait_for_end(world.submit(1, more="steps: 2"))


if __name__ == "__main__":
    unittest.main()
