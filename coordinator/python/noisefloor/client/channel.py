"""How a channel is made, sync or asyncio: as common/rpc/channel.cc makes it."""

from __future__ import annotations

import json
from typing import Any

import grpc

from noisefloor.client.access import Coordinator, user
from noisefloor.client.proxy import proxy_to
from noisefloor.v1 import access_api_pb2_grpc, coordinator_api_pb2_grpc

STUBS: dict[str, Any] = {"CoordinatorService": coordinator_api_pb2_grpc.CoordinatorServiceStub,
                         "AccessService": access_api_pb2_grpc.AccessServiceStub}

_CONFIG = json.dumps({
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
    "methodConfig": [{
        "name": [{"service": "noisefloor.v1.CoordinatorService"},
                 {"service": "noisefloor.v1.AccessService"}],
        "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
                        "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]})
_OPTIONS = [("grpc.service_config", _CONFIG),
            ("grpc.max_receive_message_length", 16 << 20),
            ("grpc.keepalive_time_ms", 30000),
            ("grpc.keepalive_timeout_ms", 20000),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2000),
            ("grpc.use_local_subchannel_pool", 1)]


def open_channel(package: Any, coordinator: Coordinator) -> Any:
    """A channel of `package`: grpc, or grpc.aio. Nothing is connected before the first call."""
    proxy = proxy_to(coordinator.address)
    options = [*_OPTIONS, ("grpc.enable_http_proxy", int(bool(proxy)))]
    if proxy:
        options.append(("grpc.http_proxy", proxy))
    if not coordinator.token:
        return package.insecure_channel(coordinator.address, options=options)
    credentials = grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(coordinator.certificate.encode()),
        grpc.access_token_call_credentials(coordinator.token))
    return package.secure_channel(coordinator.address, credentials, options=options)


def metadata_of(coordinator: Coordinator) -> tuple[tuple[str, str], ...]:
    """What goes with each call: who calls, where no token says it."""
    name = "" if coordinator.token else user()
    return (("noisefloor-user", name),) if name else ()
