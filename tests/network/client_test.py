"""noisefloor.client reaches a coordinator through an HTTP proxy, and only where it should."""

from __future__ import annotations

import asyncio
import os
import unittest
from unittest import mock

import noisefloor.client as nf
from connect_proxy import ConnectProxy
from noisefloor.client.proxy import proxy_to
from world import World

NAME = "coordinator.test"


class Proxied(unittest.TestCase):
    def setUp(self) -> None:
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]

    def test_both_clients_ask_through_it(self) -> None:
        world = World(self, NAME)
        proxy = ConnectProxy(self, {NAME: "127.0.0.1"}, "Ada:Pass")
        world.serve()
        os.environ["https_proxy"] = proxy.url
        with nf.Client(access=f"{world.access}/submitter.access") as client:
            answer = client.submit({"name": "a", "noise": ["control"], "hardware": "any"})
        self.assertEqual(answer.sweep, 1)
        self.assertEqual(proxy.asked, [f"{NAME}:{world.port}"])

        async def later() -> str:
            async with nf.AsyncClient(access=f"{world.access}/submitter.access") as client:
                return str((await client.get_sweep()).name)

        self.assertEqual(asyncio.run(later()), "a")
        self.assertEqual(proxy.refused, 0)

    def test_loopback_is_reached_directly(self) -> None:
        world = World(self)
        proxy = ConnectProxy(self, {})
        world.serve()
        os.environ["https_proxy"] = os.environ["http_proxy"] = proxy.url
        with nf.Client(access=f"{world.access}/admin.access") as client:
            self.assertTrue(client.version())
        self.assertEqual(proxy.asked, [])

    def test_which_way_is_direct(self) -> None:
        self.assertEqual(proxy_to("box:1"), "")
        os.environ["http_proxy"] = "http://plain:1"
        self.assertEqual(proxy_to("box:1"), "", "for plain text, which is not spoken there")
        os.environ["HTTPS_PROXY"] = "p:3128"
        self.assertEqual(proxy_to("box:1"), "http://p:3128")
        os.environ["grpc_proxy"] = "http://u:s@first:1"
        self.assertEqual(proxy_to("box:1"), "http://u:s@first:1")
        os.environ["no_proxy"] = "a.org, .example.org,10.1.0.0/16,*.lan"
        for direct in ("localhost:1", "127.0.0.5:1", "[::1]:1", "x.example.org:1", "10.1.2.3:1",
                       "box.lan:1", "a.org:1"):
            self.assertEqual(proxy_to(direct), "", direct)
        for other in ("127.example.net:1", "10.2.0.1:1", "lan:1", "[2001:db8::1]:1"):
            self.assertEqual(proxy_to(other), "http://u:s@first:1", other)
        os.environ["no_grpc_proxy"] = "*"
        self.assertEqual(proxy_to("10.2.0.1:1"), "")
        del os.environ["no_grpc_proxy"]
        os.environ["grpc_proxy"] = "https://first:1"
        self.assertEqual(proxy_to("box:1"), "", "gRPC has no TLS to proxies")


if __name__ == "__main__":
    unittest.main()
