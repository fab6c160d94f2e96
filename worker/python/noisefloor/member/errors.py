"""How a script says what went wrong, and how it ends then."""

from __future__ import annotations

import errno

# worker/trainer/README.md, "Endings".
EXIT_CODES = {"none": 0, "bad_specification": 10, "bad_data": 11, "out_of_memory": 12,
              "lost_device": 13, "interrupted": 14, "bug": 15}


class Refused(Exception):
    """The request asks for what this script cannot do: the member is not tried again."""
    cause = "bad_specification"


class BadData(Exception):
    """Data are missing, damaged or others than expected: tried again elsewhere."""
    cause = "bad_data"


class LostDevice(Exception):
    """The device failed: tried again elsewhere."""
    cause = "lost_device"


class Interrupted(BaseException):
    """SIGTERM or SIGINT came: tried again. No Exception, so that `except Exception` lets it by."""
    cause = "interrupted"


class Diverged(Exception):
    """The loss is not finite any more: a result, not a failure."""


# Of a disk that is full or fails: another machine may do better.
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}


def cause_of(error: BaseException) -> str:
    if isinstance(error, (Refused, BadData, LostDevice, Interrupted)):
        return error.cause
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "out_of_memory"
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        return "lost_device"
    words = str(error)
    if "RESOURCE_EXHAUSTED" in words or "CUDA out of memory" in words:
        return "out_of_memory"
    if "CUDA error" in words or "CUDA driver" in words:
        return "lost_device"
    return "bug"


def cause_of_code(code: int) -> str:
    """Of another process's end."""
    return {value: cause for cause, value in EXIT_CODES.items()}.get(code, "bug")
