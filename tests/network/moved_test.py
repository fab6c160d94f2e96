"""A coordinator that comes back somewhere else is found by workers that hold members of it."""

from __future__ import annotations

import re
import shutil
import socket
import unittest

from world import World, wait_until


def taken(port: int) -> socket.socket:
    """Nobody listens there, and nobody else can."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", port))
    return holder


class Moved(unittest.TestCase):
    def test_workers_look_into_their_access_file_and_keep_their_leases(self) -> None:
        world = World(self)
        world.serve()
        for name in ("a", "b"):
            world.worker(name)
        world.wait_for_workers(2)
        sweep = world.submit(2, more="steps: 60")
        wait_until(lambda: world.counts(sweep)["leased"] == 2, "both train")
        before = world.port
        world.kill()
        with taken(before):  # The next one cannot be there.
            world.serve()
        self.assertNotEqual(world.port, before)
        for name in ("a", "b"):
            world.wait_for(name, "coordinator_moved")
        world.wait_for_end(sweep)

        attempts = world.rows("SELECT member, attempt, outcome, accepted FROM v_attempt")
        self.assertEqual(len(attempts), 2, attempts)
        self.assertEqual([row[1:] for row in attempts], [[1, "done", 1]] * 2)
        for name in ("a", "b"):
            self.assertIn(f"to=localhost:{world.port}", world.said(name))
            self.assertEqual(world.stop(name), 0)

    def test_a_new_authority_is_read_from_the_access_file(self) -> None:
        """As after a restore whose access/ was lost."""
        world = World(self)
        world.serve()
        world.worker("a")
        world.wait_for_workers(1)
        world.kill()
        shutil.rmtree(world.home)
        shutil.rmtree(world.access)
        world.ask("access", "init", "--address=localhost:7077", world.access)
        world.serve()
        world.wait_for_workers(1)
        world.wait_for("a", "authority_replaced")
        self.assertEqual(world.stop("a"), 0)

    def test_one_whose_coordinator_was_typed_stays_with_it(self) -> None:
        world = World(self)
        world.serve()
        before = world.port
        typed = f"localhost:{before}"
        world.worker("a", f"--coordinator={typed}", "--give-up-after=3")
        world.wait_for_workers(1)
        world.kill()
        with taken(before):
            world.serve()
        code = world.workers["a"].wait(60)
        self.assertEqual(code, 3, world.said("a"))
        self.assertIsNone(re.search("coordinator_moved", world.said("a")))


if __name__ == "__main__":
    unittest.main()
