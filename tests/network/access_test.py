"""Access while there is load: what roles cannot do, what revoking and renewing does to workers."""

from __future__ import annotations

import os
import ssl
import socket
import time
import unittest

from world import World, wait_until


class Access(unittest.TestCase):
    def setUp(self) -> None:
        self.world = World(self)
        self.world.ask("access", "add", "ada", "--role=reader",
                       f"--to={self.world.access}/reader.access")
        self.world.serve()

    def refused(self, role: str, *words: str) -> None:
        said = self.world.ask(*words, role=role, code=1)
        self.assertIn("needs the role", said, words)

    def test_a_workers_token_submits_nothing_and_a_readers_drains_nothing(self) -> None:
        world = self.world
        world.worker("a")
        world.wait_for_workers(1)
        sweep = world.submit(1, more="steps: 2")
        file = world.sweep_file(1, name="other")
        changes = [("submit", file), ("cancel", sweep), ("pause", sweep),
                   ("drain", "a"), ("fleet", "remove", "p"), ("fleet", "pause", "p"),
                   ("fleet", "add", "p", "--slurm"), ("access", "add", "eve", "--role=admin"),
                   ("access", "revoke", "admin"), ("gc",)]
        for words in changes:
            for role in ("worker", "reader"):
                self.refused(role, *words)
        self.refused("worker", "status", sweep)
        self.assertEqual(world.ask("status", sweep, role="reader")["sweep"]["name"], "net")
        world.wait_for_end(sweep)
        self.assertEqual(len(world.rows("SELECT 1 FROM sweep")), 1)
        self.assertEqual(world.rows("SELECT identity, role FROM v_token WHERE identity = 'eve'"), [])
        self.assertFalse(world.ask("workers")["workers"][0]["draining"])

    def test_a_revoked_worker_is_gone_within_a_second_in_the_middle_of_load(self) -> None:
        world = self.world
        for name in ("a", "b"):
            world.worker(name, "--slots=4")
        world.wait_for_workers(2)
        sweep = world.submit(24, more="steps: 40\npause: 0.02")
        wait_until(lambda: world.counts(sweep)["leased"] >= 8, "both are busy")
        world.ask("access", "revoke", "worker")
        answered = time.monotonic()
        for name in ("a", "b"):
            world.wait_for(name, "disconnected")
        self.assertLess(time.monotonic() - answered, 1.0)
        self.assertFalse(any(one["connected"] for one in world.ask("workers")["workers"]))
        for name in ("a", "b"):
            self.assertIn("was revoked", world.said(name))
        self.assertGreater(world.counts(sweep)["total"], world.counts(sweep)["done"])

    def certificate(self) -> bytes:
        """The one that new connections see."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", self.world.port)) as plain:
            with context.wrap_socket(plain) as secure:
                found = secure.getpeercert(binary_form=True)
        assert found is not None
        return found

    def test_certificates_rotate_under_load_without_a_lost_lease(self) -> None:
        world = self.world
        for name in ("a", "b"):
            world.worker(name, "--slots=4")
        world.wait_for_workers(2)
        sweep = world.submit(40, more="steps: 30\npause: 0.02")
        wait_until(lambda: world.counts(sweep)["leased"] >= 8, "both are busy")
        seen = {self.certificate()}
        for renewals in range(3):
            world.ask("access", "renew", f"--name=box{renewals}.test")
            before = len(seen)
            wait_until(lambda: len(seen | {self.certificate()}) > before, "the next one serves")
            seen.add(self.certificate())
            # A worker that loses its connection now comes back by the new one.
            world.ask("status", sweep, role="admin")
            os.kill(world.workers["a"].pid, 0)
        self.assertLess(world.counts(sweep)["done"], 40, "there was load all the while")
        world.worker("late", "--slots=2")
        world.wait_for_workers(3)
        world.wait_for_end(sweep)

        rows = world.rows("SELECT attempt, outcome, accepted FROM v_attempt")
        self.assertEqual(rows, [[1, "done", 1]] * 40, "no lease was lost")
        self.assertEqual(len(seen), 4)
        for name in ("a", "b"):
            self.assertNotIn("disconnected", world.said(name))
            self.assertEqual(world.stop(name), 0)


if __name__ == "__main__":
    unittest.main()
