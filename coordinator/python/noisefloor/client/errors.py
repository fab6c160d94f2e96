"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from noisefloor.v1 import common_pb2


class NoisefloorError(Exception):
    """Base of all that this package raises, but for wrong arguments."""


class NoCoordinator(NoisefloorError):
    """None is named, or the one that is named does not answer."""


class Refused(NoisefloorError):
    """The coordinator says no."""

    def __init__(self, code: str, reason: str, message: str, about: dict[str, str]) -> None:
        super().__init__(message)
        self.code = code        # gRPC's: "NOT_FOUND".
        self.reason = reason    # Ours, of proto/README.md: "SWEEP_NOT_FOUND"; empty: of gRPC alone.
        self.message = message
        self.about = about      # {"sweep": "s7"}.

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.reason, self.message, self.about)


class Mistake(NamedTuple):
    """What is wrong with one field of a sweep."""
    field: str        # "noise[2].init".
    description: str
    line: int         # From 1; 0: not known.
    column: int

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.field}: {self.description}"


class BadSweep(Refused):
    """A sweep is refused, with every mistake found."""

    def __init__(self, code: str, reason: str, message: str, about: dict[str, str],
                 mistakes: list[Mistake]) -> None:
        super().__init__(code, reason, message, about)
        self.mistakes = mistakes

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.mistakes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.reason, self.message, self.about, self.mistakes)


def from_rpc(error: grpc.RpcError, address: str) -> NoisefloorError:
    """The error of a call, sync or asyncio, in words."""
    code = error.code().name
    words = error.details() or code
    metadata = {key: value for key, value in error.trailing_metadata() or ()}
    details = metadata.get("grpc-status-details-bin")
    if details is None:
        if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            return NoCoordinator(f"coordinator {address}: {words}")
        return Refused(code, "TOKEN_REFUSED" if code == "UNAUTHENTICATED" else "", words, {})
    reason, about, mistakes = "", {}, None
    try:
        status = status_pb2.Status.FromString(details)
        for detail in status.details:
            info, bad = error_details_pb2.ErrorInfo(), common_pb2.BadSweep()
            if detail.Unpack(info):
                reason, about = info.reason, dict(info.metadata)
            elif detail.Unpack(bad):
                mistakes = [Mistake(one.field, one.description, one.line, one.column)
                            for one in bad.violations]
    except DecodeError:
        return Refused(code, "", words, {})
    if reason == "UNAVAILABLE":
        return NoCoordinator(f"coordinator {address}: {status.message}")
    if mistakes is not None:
        return BadSweep(code, reason, status.message, about, mistakes)
    return Refused(code, reason, status.message, about)
