"""What members leave, as numpy arrays."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

# Of safetensors, https://github.com/huggingface/safetensors#format
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
          "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"}


def npy(data: bytes) -> numpy.ndarray[Any, Any]:
    """An .npy file's array. ValueError: it is none, or holds objects."""
    import numpy
    array: numpy.ndarray[Any, Any] = numpy.load(io.BytesIO(data), allow_pickle=False)
    return array


def safetensors(data: bytes) -> dict[str, numpy.ndarray[Any, Any]]:
    """A .safetensors file's tensors by name; bfloat16 as float32, of the same values. ValueError:
    it is none, or has a kind that numpy does not."""
    import numpy
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise ValueError("no safetensors file")
    header = json.loads(data[8:8 + size])
    content = memoryview(data)[8 + size:]
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        begin, end = about["data_offsets"]
        if about["dtype"] == "BF16":
            halves = numpy.frombuffer(content[begin:end], "<u2").astype("<u4")
            values = (halves << 16).view("<f4")
        elif about["dtype"] in _KINDS:
            values = numpy.frombuffer(content[begin:end], _KINDS[about["dtype"]])
        else:
            raise ValueError(f"{name}: numpy has no {about['dtype']}")
        tensors[name] = values.reshape(about["shape"])
    return tensors
