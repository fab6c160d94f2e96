"""Data sets that our own trainer knows, in its order: worker/trainer/data/canonical.h.

Read from the folder that the worker names (`run.data_root`), where the same files lie.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from noisefloor.member.errors import BadData

if TYPE_CHECKING:
    import numpy as np

    from noisefloor.member.run import Run


class Split(NamedTuple):
    images: np.ndarray  # uint8 {examples, channels, height, width}, in canonical order.
    labels: np.ndarray  # int64 {examples}


class DataSet(NamedTuple):
    train: Split
    test: Split
    classes: int
    identity: str


# Folder, kind, classes.
_SETS = {"cifar10": ("cifar-10-batches-bin", "cifar", 10),
         "cifar100": ("cifar-100-binary", "cifar", 100),
         "mnist": ("mnist", "idx", 10), "fashion-mnist": ("fashion-mnist", "idx", 10),
         "fashion-mnist-sample": ("fashion-mnist-sample", "idx", 10)}


def load(run: Run, name: str = "", train_examples: int = 0, test_examples: int = 0) -> DataSet:
    """The data set of the setting data.name, unless one is named; its first so many examples, 0:
    all. Tells the run its identity, which is of the whole set."""
    name = name or run["data.name"]
    if name not in _SETS:
        raise BadData(f"data set {name}: expected one of {', '.join(_SETS)}")
    folder, kind, classes = _SETS[name]
    path = _folder(run.data_root, folder)
    train, test = (_cifar if kind == "cifar" else _idx)(path, classes)
    (train, of_train), (test, of_test) = _ranked(train, 0), _ranked(test, 1)
    identity = _identity(train, test, classes, of_train + of_test)
    wanted = run.settings.get("data.identity", "")
    if wanted and wanted != identity:
        raise BadData(f"data set {name}: its identity is {identity}, expected {wanted}")
    run.data(identity)
    return DataSet(_first(train, train_examples), _first(test, test_examples), classes, identity)


def identity_of(*arrays: object) -> str:
    """Of data that are none of ours: hash of arrays in the order given."""
    from noisefloor.member import tensors
    return tensors.hash_tensors({f"{i:04}": tensors.tensor_of(a) for i, a in enumerate(arrays)})


def _first(split: Split, count: int) -> Split:
    if count > len(split.labels):
        raise BadData(f"expected at least {count} examples, got {len(split.labels)}")
    return Split(split.images[:count], split.labels[:count]) if count else split


def _folder(roots: str, folder: str) -> str:
    for root in roots.split(":"):
        path = os.path.join(root, folder)
        if os.path.isdir(path):
            return path
    raise BadData(f"there is no folder {folder} in {roots or 'any data root'}")


def _idx(folder: str, classes: int) -> tuple[Split, Split]:
    def split(prefix: str) -> Split:
        images = _read_idx(os.path.join(folder, prefix + "-images-idx3-ubyte"), 3)
        labels = _read_idx(os.path.join(folder, prefix + "-labels-idx1-ubyte"), 1)
        return _checked(images[:, None], labels.astype("int64"), classes, folder)
    return split("train"), split("t10k")


def _read_idx(path: str, dimensions: int) -> np.ndarray:
    import numpy as np
    content = _content(path)
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes([0, 0, 8, dimensions]):
        raise BadData(f"{path}: no IDX file of {dimensions} dimensions")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    values = np.frombuffer(content, np.uint8, offset=header)
    if values.size != int(np.prod(shape, dtype=np.int64)):
        raise BadData(f"{path}: {values.size} values after the header, expected {shape}")
    return values.reshape(shape)


def _content(path: str) -> bytes:
    try:
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
        with gzip.open(path + ".gz") as packed:
            return packed.read()
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(f"{path}: {error}") from error


def _cifar(folder: str, classes: int) -> tuple[Split, Split]:
    names = (["data_batch_%d.bin" % i for i in range(1, 6)], ["test_batch.bin"])
    label_bytes = 1
    if classes == 100:
        names, label_bytes = (["train.bin"], ["test.bin"]), 2  # A coarse label comes first.
    return (_read_cifar(folder, names[0], label_bytes, classes),
            _read_cifar(folder, names[1], label_bytes, classes))


def _read_cifar(folder: str, names: list[str], label_bytes: int, classes: int) -> Split:
    import numpy as np
    row = label_bytes + 3072
    content = b"".join(_content(os.path.join(folder, name)) for name in names)
    if not content or len(content) % row != 0:
        raise BadData(f"{folder}: {len(content)} bytes, expected a multiple of {row}")
    rows = np.frombuffer(content, np.uint8).reshape(-1, row)
    return _checked(rows[:, label_bytes:].reshape(-1, 3, 32, 32),
                    rows[:, label_bytes - 1].astype(np.int64), classes, folder)


def _checked(images: np.ndarray, labels: np.ndarray, classes: int, folder: str) -> Split:
    if len(images) != len(labels) or len(labels) == 0 or int(labels.max()) >= classes:
        raise BadData(f"{folder}: {len(images)} images and {len(labels)} labels that do not fit")
    return Split(images, labels)


def _ranked(split: Split, kind: int) -> tuple[Split, bytes]:
    """In canonical order, and the digests in that order. kind: 0 train, 1 test."""
    import numpy as np
    digests = [hashlib.sha256(struct.pack("<BH", kind, label) + image.tobytes()).digest()
               for image, label in zip(split.images, split.labels.tolist())]
    order = sorted(range(len(digests)), key=lambda i: (digests[i], i))
    return (Split(np.ascontiguousarray(split.images[order]), split.labels[order]),
            b"".join(digests[i] for i in order))


def _identity(train: Split, test: Split, classes: int, digests: bytes) -> str:
    shape = train.images.shape[1:]
    numbers = struct.pack("<6Q", classes, *shape, len(train.labels), len(test.labels))
    return hashlib.sha256(b"noisefloor dataset 1\n" + numbers + digests).hexdigest()
