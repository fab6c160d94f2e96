"""How a script says what went wrong, and how it ends then."""

from __future__ import annotations

import errno
import sys
from typing import Callable

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
# Of an allocation that failed: XLA's, CUDA's, those of CUDA's libraries, PyTorch's on the host.
_NO_MEMORY = ("RESOURCE_EXHAUSTED", "out of memory", "_STATUS_ALLOC_FAILED", "_ALLOCATION_FAILED",
              "DefaultCPUAllocator: ")
# Errors of CUDA that are about what was asked of the GPU.
_MISTAKES = ("invalid configuration argument", "device-side assert triggered")
# cuDNN's, and PyTorch's when none of its ways has worked: the same for a mistake and for a GPU that
# is gone.
_OF_CUDNN = ("cuDNN error", "cuDNN Frontend error", "CUDNN_STATUS_", "unable to find an engine")


def _wait_for_gpu() -> None:
    """Raises when the one that PyTorch uses here does not work any more. Others are not asked: that
    would take memory of each."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _of_cudnn(ask_gpu: Callable[[], None]) -> str:
    try:
        ask_gpu()
    except RuntimeError as answer:
        return _of_cuda(str(answer))
    return "bug"


def _of_cuda(words: str) -> str:
    if _has(words, _NO_MEMORY):
        return "out_of_memory"
    return "bug" if _has(words, _MISTAKES) else "lost_device"


def _has(words: str, wanted: tuple[str, ...]) -> bool:
    return any(one in words for one in wanted)


def cause_of(error: BaseException, ask_gpu: Callable[[], None] = _wait_for_gpu) -> str:
    if isinstance(error, (Refused, BadData, LostDevice, Interrupted)):
        return error.cause
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "out_of_memory"
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        return "lost_device"
    words = str(error)
    if _has(words, _NO_MEMORY):
        return "out_of_memory"
    if "CUDA error" in words or "CUDA driver" in words:
        return _of_cuda(words)
    return _of_cudnn(ask_gpu) if _has(words, _OF_CUDNN) else "bug"


def cause_of_code(code: int) -> str:
    """Of another process's end."""
    return {value: cause for cause, value in EXIT_CODES.items()}.get(code, "bug")
