"""Where a member that was interrupted goes on.

A checkpoint is the script's own state and ours (generators, counts, records, hashes) in one file,
whole or absent, in the folder that the worker has for the member: other attempts of the same
member find it there, on other machines too, where workers share the folder. Files that the attempt
told of lie beside it, each once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import time
from typing import Any, Iterable

from noisefloor.member import tensors

_NAME = "checkpoint"
_MAGIC = b"noisefloor checkpoint 2\n"
_ASIDE = ".part"  # How tensors.write_whole ends the name of what it has not renamed yet.
_LEFT_AFTER = 3600.0  # Seconds without a write.


def folder_of(base: str, identity: str) -> str:
    """Of a member, below the folder of all checkpoints. `identity`: a SHA-256 as text."""
    return os.path.join(base, identity[:32])


def content_of(identity: str, state: dict[str, Any]) -> bytes:
    """`identity`: of what may go on with it."""
    body = pickle.dumps({"identity": identity, **state}, protocol=5)
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def save(folder: str, content: bytes, files: Iterable[tuple[str, str]] = ()) -> None:
    """files: paths and SHA-256 of those that the checkpoint names, kept before it. OSError: the
    checkpoint before is what there is."""
    os.makedirs(folder, exist_ok=True)
    _remove_left(folder)
    for path, sha256 in files:
        _keep_file(folder, path, sha256)
    tensors.write_whole(os.path.join(folder, _NAME), content)


def _remove_left(folder: str) -> None:
    """What processes have begun that were killed: one that lives writes on."""
    before = time.time() - _LEFT_AFTER
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if _is_ours(name) and name.endswith(_ASIDE) and os.stat(path).st_mtime < before:
                os.remove(path)


def load(folder: str, identity: str) -> dict[str, Any] | None:
    """None where there is none of this identity, or what is there is damaged."""
    try:
        with open(os.path.join(folder, _NAME), "rb") as file:
            content = file.read()
    except OSError:
        return None
    head, body = content[:len(_MAGIC) + 65], content[len(_MAGIC) + 65:]
    if head != _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        return None
    state: dict[str, Any] = pickle.loads(body)
    return state if state["identity"] == identity else None


def _is_ours(name: str) -> bool:
    return (name == _NAME or name.startswith("kept-")
            or name.startswith(_NAME + ".") and name.endswith(_ASIDE))


def _kept(folder: str, sha256: str) -> str:
    return os.path.join(folder, "kept-" + sha256)


def _keep_file(folder: str, path: str, sha256: str) -> None:
    if os.path.exists(_kept(folder, sha256)):
        return
    with open(path, "rb") as file:
        tensors.write_whole(_kept(folder, sha256), file.read())


def load_file(folder: str, sha256: str) -> bytes | None:
    """None where it is gone or damaged."""
    try:
        with open(_kept(folder, sha256), "rb") as file:
            content = file.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def touch(folder: str) -> None:
    """As a write would: who removes what nobody has used for long goes by the folder's time."""
    with contextlib.suppress(OSError):
        os.utime(folder)


def remove(folder: str) -> None:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    ours = [name for name in names if _is_ours(name)]
    for drop, path in [*((os.remove, os.path.join(folder, name)) for name in ours),
                       (os.rmdir, folder)]:
        with contextlib.suppress(OSError):
            drop(path)
