"""The HTTP proxy on the way to a coordinator: as common/rpc/proxy.cc finds it."""

from __future__ import annotations

import ipaddress
import os


def proxy_to(address: str) -> str:
    """The proxy of the environment on the way to "HOST:PORT", as gRPC takes it; empty: there is none,
    or the way is direct, as to this machine's loopback and to what $no_proxy has."""
    value = _first("grpc_proxy", "https_proxy", "HTTPS_PROXY")
    scheme, found, rest = value.partition("://")
    if not value or (found and scheme != "http"):
        return ""
    host = address.rpartition(":")[0].strip("[]")
    excepted = _first("no_grpc_proxy", "no_proxy", "NO_PROXY").split(",")
    if _is_loopback(host) or any(_is_except(entry.strip(), host) for entry in excepted):
        return ""
    return "http://" + (rest if found else value)


def _first(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_except(entry: str, host: str) -> bool:
    if entry == "*":
        return True
    entry = entry.removeprefix("*")
    if entry and host.endswith(entry):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
