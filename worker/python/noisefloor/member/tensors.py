"""Arrays of any framework as bytes: hashed, and written as .npy and .safetensors.

Whatever numpy can make an array of counts, and tensors of PyTorch; without numpy numbers and
nested lists of them do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import struct
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, ValuesView

from noisefloor.member import draws
from noisefloor.member.errors import Refused

_FORMATS = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "int32": "i", "int16": "h",
            "int8": "b", "uint64": "Q", "uint32": "I", "uint16": "H", "uint8": "B", "bool": "?"}
_NPY = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "int64": "<i8", "uint8": "|u1"}


class Tensor(NamedTuple):
    """Values in row-major order, little endian. `kind` is numpy's name of their type."""
    kind: str
    shape: tuple[int, ...]
    data: bytes


def tensor_of(value: Any, kind: str | None = None) -> Tensor:
    """`value` as a tensor, of `kind` if one is named, else of its own. Refused: it is no array."""
    if isinstance(value, Tensor):
        return value if kind is None else _as(value, kind)
    if hasattr(value, "detach"):  # Of PyTorch.
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            if kind is None:
                bits = value.contiguous().view(dtype=_torch().int16)
                return Tensor("bfloat16", tuple(value.shape), bits.numpy().tobytes())
            value = value.float()
        value = value.numpy()
    if not isinstance(value, (list, tuple, int, float, bool)):
        import numpy
        array = numpy.asarray(value)
        if kind is not None:
            array = array.astype(kind)
        # The bytes of objects are their addresses, and records may have gaps that nobody writes.
        if array.dtype.kind == "O" or issubclass(array.dtype.type, numpy.void):
            raise Refused(f"expected an array of numbers, got {type(value).__name__} "
                          f"({array.dtype})")
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        return Tensor(str(array.dtype), tuple(array.shape), array.tobytes())
    return _tensor_of_numbers(value, kind)


def _torch() -> Any:
    import torch
    return torch


def _tensor_of_numbers(value: Any, kind: str | None) -> Tensor:
    shape: list[int] = []
    inner = value
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    numbers = list(_leaves(value, len(shape)))
    if len(numbers) != math.prod(shape):
        raise ValueError("expected nested lists of equal lengths")
    if kind is None:
        kind = "float64" if any(isinstance(n, float) for n in numbers) else "int64"
    make = float if kind.startswith("float") else int
    data = struct.pack(f"<{len(numbers)}{_FORMATS[kind]}", *map(make, numbers))
    return Tensor(kind, tuple(shape), data)


def _leaves(value: Any, depth: int) -> Iterable[Any]:
    if depth == 0:
        yield value
        return
    for inner in value:
        yield from _leaves(inner, depth - 1)


def _as(tensor: Tensor, kind: str) -> Tensor:
    """Its values in another type."""
    if tensor.kind == kind:
        return tensor
    data = tensor.data
    if tensor.kind == "bfloat16":  # The upper half of a float32.
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        tensor = Tensor("float32", tensor.shape, data)
        return _as(tensor, kind)
    numpy = draws.numpy_or_none()
    if numpy is not None:
        values = numpy.frombuffer(data, tensor.kind).astype(kind)
        return Tensor(kind, tensor.shape, values.tobytes())
    return _tensor_of_numbers(_values(tensor), kind)._replace(shape=tensor.shape)


def _values(tensor: Tensor) -> Any:
    flat = list(struct.unpack(f"<{math.prod(tensor.shape)}{_FORMATS[tensor.kind]}", tensor.data))
    for size in reversed(tensor.shape[1:]):
        flat = [flat[i:i + size] for i in range(0, len(flat), size)]
    return flat if tensor.shape else flat[0]


def rows_of(tensor: Tensor) -> list[list[float]]:
    """The rows of a matrix as numbers."""
    rows: list[list[float]] = _values(tensor)
    return rows


def named_tensors(values: Any) -> dict[str, Tensor]:
    """Of a mapping of names to arrays, which may hold such mappings and lists; of a module of
    PyTorch; of a list or an iterator of arrays or of objects with a name and a value, as Keras has
    them. Refused: what is no array in them."""
    if hasattr(values, "state_dict"):
        values = values.state_dict()
    if hasattr(values, "variables") and hasattr(values, "get_weights"):
        values = values.variables
    found: dict[str, Tensor] = {}
    _gather("", values, found)
    return found


def _gather(prefix: str, values: Any, found: dict[str, Tensor]) -> None:
    if isinstance(values, (Iterator, ValuesView)):  # Such as model.parameters().
        values = list(values)
    if isinstance(values, Mapping):
        for name, value in values.items():
            _gather(f"{prefix}.{name}" if prefix else str(name), value, found)
    elif isinstance(values, (list, tuple)) and not _is_tensor(values):
        for i, value in enumerate(values):
            name = getattr(value, "path", None) or str(i)
            inner = value.numpy() if hasattr(value, "path") and hasattr(value, "numpy") else value
            _gather(f"{prefix}.{name}" if prefix else name, inner, found)
    elif values is not None:
        found[prefix] = tensor_of(values)


def _is_tensor(values: Any) -> bool:
    if isinstance(values, (list, tuple)) and not isinstance(values, Tensor):
        return all(_is_tensor(value) for value in values)
    return isinstance(values, (Tensor, int, float))


def hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    """What members' tensors are compared by: common/files/tensor_hash.h."""
    digest = hashlib.sha256()
    for name in sorted(tensors, key=str.encode):
        tensor, encoded = tensors[name], name.encode()
        digest.update(struct.pack("<Q", len(encoded)) + encoded)
        digest.update(struct.pack(f"<{1 + len(tensor.shape)}Q", len(tensor.shape), *tensor.shape))
        digest.update(tensor.data)
    return digest.hexdigest()


def npy(tensor: Tensor) -> bytes:
    """The format of numpy.save, version 1.0."""
    header = (f"{{'descr': '{_NPY[tensor.kind]}', 'fortran_order': False, "
              f"'shape': {tuple(tensor.shape)}, }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + tensor.data


def safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Numbers with a fraction as float32, others as int64, which come first; sorted by name. Only
    these two types are read by reports."""
    whole = {name for name, tensor in tensors.items() if "float" not in tensor.kind}
    parts = [(n, "I64", _as(tensors[n], "int64")) for n in sorted(whole)]
    parts += [(n, "F32", _as(tensors[n], "float32")) for n in sorted(set(tensors) - whole)]
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, kind, tensor in parts:
        header[name] = {"dtype": kind, "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(tensor.data)]}
        at += len(tensor.data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(t.data for _, _, t in parts)


def write_whole(path: str, content: bytes) -> None:
    """The file is whole and on disk, or as it was."""
    # Its own name: of two attempts in a shared folder neither renames the other's away.
    aside = f"{path}.{os.uname().nodename}-{os.getpid()}.part"
    try:
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(aside)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
