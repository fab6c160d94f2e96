"""Workers and commands reach a coordinator through an HTTP proxy, and only where they should."""

from __future__ import annotations

import unittest

from connect_proxy import ConnectProxy
from world import World

# No resolver knows it: who reaches it went through the proxy.
NAME = "coordinator.test"


class Proxied(unittest.TestCase):
    def test_a_worker_trains_and_uploads_through_it_and_a_command_asks_through_it(self) -> None:
        world = World(self, NAME)
        proxy = ConnectProxy(self, {NAME: "127.0.0.1"}, "Ada:Pass")
        world.serve()
        world.worker("far", https_proxy=proxy.url)
        world.wait_for_workers(1)
        sweep = world.submit(2, more="steps: 4")
        world.wait_for_end(sweep)

        self.assertEqual(set(proxy.asked), {f"{NAME}:{world.port}"})
        self.assertEqual(proxy.refused, 0)
        uploaded = world.rows("SELECT COUNT(*), SUM(size_bytes) FROM v_artifact")[0]
        self.assertGreaterEqual(uploaded[0], 4, uploaded)
        self.assertGreater(proxy.bytes, uploaded[1], "all of it came this way")
        before = len(proxy.asked)
        asked = world.run("status", sweep, https_proxy=proxy.url, NOISEFLOOR_ACCESS=world.access)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertGreater(len(proxy.asked), before)
        self.assertEqual(world.stop("far"), 0)
        for log in ("far", "serve"):
            self.assertNotIn("Ada", world.said(log))

    def test_loopback_and_what_no_proxy_has_are_reached_directly(self) -> None:
        world = World(self)
        proxy = ConnectProxy(self, {})  # It would let nobody through.
        world.serve()
        world.worker("near", https_proxy=proxy.url, http_proxy=proxy.url, grpc_proxy=proxy.url)
        world.wait_for_workers(1)
        asked = world.run("workers", https_proxy=proxy.url, NOISEFLOOR_ACCESS=world.access)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(proxy.asked, [])
        other = World(self, NAME)
        other.serve()
        excepted = other.run("workers", https_proxy=proxy.url, no_proxy="x.org,.test",
                             NOISEFLOOR_ACCESS=other.access)
        self.assertEqual(excepted.returncode, 3)
        self.assertIn("does not resolve", excepted.stderr)
        self.assertEqual(proxy.asked, [])

    def test_a_proxy_that_lets_nobody_through_is_named_without_its_password(self) -> None:
        world = World(self, NAME)
        world.serve()
        proxy = ConnectProxy(self, {NAME: "127.0.0.1"}, "Ada:Right")
        refused = world.run("workers", https_proxy=f"http://Ada:Wrong@{proxy.address}",
                            NOISEFLOOR_ACCESS=world.access)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"through the proxy {proxy.address} of $https_proxy", refused.stderr)
        self.assertIn("407", refused.stderr)
        self.assertNotIn("Wrong", refused.stderr)
        world.worker("far", https_proxy=f"http://Ada:Wrong@{proxy.address}")
        world.wait_for("far", "407")
        self.assertNotIn("Wrong", world.said("far"))


if __name__ == "__main__":
    unittest.main()
