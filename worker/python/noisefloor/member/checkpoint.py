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
from typing import Any

from noisefloor.member import tensors

_NAME = "checkpoint"
_MAGIC = b"noisefloor checkpoint 2\n"


def folder_of(base: str, identity: str) -> str:
    """Of a member, below the folder of all checkpoints. `identity`: a SHA-256 as text."""
    return os.path.join(base, identity[:32])


def save(folder: str, identity: str, state: dict[str, Any]) -> None:
    """`identity`: of what may go on with it."""
    body = pickle.dumps({"identity": identity, **state}, protocol=5)
    digest = hashlib.sha256(body).hexdigest().encode()
    os.makedirs(folder, exist_ok=True)
    tensors.write_whole(os.path.join(folder, _NAME), _MAGIC + digest + b"\n" + body)


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


def _kept(folder: str, sha256: str) -> str:
    return os.path.join(folder, "kept-" + sha256)


def keep_file(folder: str, path: str, sha256: str) -> None:
    """Before the checkpoint that names it."""
    if os.path.exists(_kept(folder, sha256)):
        return
    os.makedirs(folder, exist_ok=True)
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


def remove(folder: str) -> None:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    ours = [name for name in names if name == _NAME or name.startswith("kept-")]
    for drop, path in [*((os.remove, os.path.join(folder, name)) for name in ours),
                       (os.rmdir, folder)]:
        with contextlib.suppress(OSError):
            drop(path)
