"""What runs here, read back: interpreter, packages, own code and its changes, variables, machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from typing import Any, Iterable

# Variables that change results, speed or what is found.
_VARIABLES = ("ATEN_", "BLIS_", "CUBLAS", "CUDA", "CUDNN", "DNNL_", "GLOO_", "GOMP_", "GOTO_",
              "HIP_", "JAX_", "KERAS_BACKEND", "KMP_", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBTPU_",
              "MALLOC_", "MIOPEN_", "MKL_", "NCCL_", "NPY_", "NUMBA_", "NUMEXPR_", "NVIDIA_TF32",
              "OMP_", "ONEDNN_", "OPENBLAS_", "PYTHON", "PYTORCH_", "ROCR_", "TF_", "TORCH",
              "TPU_", "XLA_")
_FOREIGN = ("TF_CLI", "TF_DATA", "TF_IN", "TF_LOG", "TF_REG", "TF_TOKEN", "TF_VAR")  # Terraform's.
_SECRET = ("TOKEN", "SECRET", "PASSW", "API_KEY", "CREDENTIAL")
_DIFF_BYTES = 200_000  # Of the uncommitted diff that is kept; its hash is of all of it.


def build_of(script: str) -> str:
    """SHA-256 of the script and of the modules beside and below it that it has imported by now."""
    digest = hashlib.sha256()
    for name, path in sorted(local_files(script).items()):
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def local_files(script: str) -> dict[str, str]:
    """By their names from the script's folder on."""
    folder = os.path.dirname(os.path.realpath(script))
    files = {os.path.basename(script): os.path.realpath(script)}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not path.endswith(".py"):
            continue
        path = os.path.realpath(path)
        below = path.startswith(folder + os.sep) and not _installed(path)
        if below and os.path.exists(path):
            files[os.path.relpath(path, folder)] = path
    return files


def _installed(path: str) -> bool:
    parts = path.split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts


def packages() -> dict[str, str]:
    """Distributions of which something is imported by now, with their versions."""
    found: dict[str, str] = {}
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    for top, names in metadata.packages_distributions().items():
        if top not in tops:
            continue
        for name in names:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    for top in ("torch", "jax", "tensorflow", "keras", "numpy"):
        version = getattr(sys.modules.get(top), "__version__", None)
        if isinstance(version, str):
            found.setdefault(top, version)
    return dict(sorted(found.items()))


def fingerprint() -> str:
    """Hash of the software, but for the script: another one, and results may be others."""
    facts = {"python": sys.version, "packages": packages(), "libc": "-".join(platform.libc_ver())}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """What people want to see of it: the frameworks first."""
    known = packages()
    first = ("torch", "jax", "jaxlib", "tensorflow", "keras", "flax", "numpy", "noisefloor")
    chosen = {name: known[name] for name in first if name in known}
    chosen["python"] = platform.python_version()
    return chosen


def variables() -> dict[str, str]:
    return {name: os.environ[name] for name in sorted(os.environ)
            if name.startswith(_VARIABLES) and not name.startswith(_FOREIGN)
            and not any(word in name for word in _SECRET)}


def machine() -> dict[str, Any]:
    facts: dict[str, Any] = {
        "host": platform.node(), "kernel": f"{platform.system()} {platform.release()} "
        f"{platform.machine()}", "cores_online": os.cpu_count(),
        "c_library": " ".join(platform.libc_ver())}
    if hasattr(os, "sched_getaffinity"):
        facts["cores_allowed"] = len(os.sched_getaffinity(0))
    facts["cpu_model"] = _first_line("/proc/cpuinfo", "model name")
    facts["memory"] = _first_line("/proc/meminfo", "MemTotal")
    return facts


def _first_line(path: str, key: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def repository(folder: str) -> dict[str, Any] | None:
    """The commit of the script, and what differs from it; None where there is no repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    diff = _git(folder, "diff", "HEAD") or ""
    untracked = (_git(folder, "ls-files", "--others", "--exclude-standard") or "").split("\n")
    facts: dict[str, Any] = {"commit": commit.strip(), "changed": bool(diff),
                             "untracked": [name for name in untracked if name][:100]}
    if diff:
        facts["diff_sha256"] = hashlib.sha256(diff.encode()).hexdigest()
        facts["diff"] = diff.encode()[:_DIFF_BYTES].decode(errors="ignore")
        facts["diff_is_whole"] = len(diff.encode()) <= _DIFF_BYTES
    return facts


def _git(folder: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", folder or ".", *arguments], capture_output=True,
                              timeout=10, stdin=subprocess.DEVNULL,
                              env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def environment(script: str, stack: str, switches: dict[str, Any],
                notes: Iterable[str] = ()) -> dict[str, Any]:
    """All of it, as the hello event and the outcome carry it."""
    return {"stack": stack, "build": build_of(script), "stack_fingerprint": fingerprint(),
            "script": os.path.basename(script), "python": sys.version,
            "interpreter": sys.executable, "versions": versions(), "packages": packages(),
            "variables": variables(), "machine": machine(), "switches": switches,
            "repository": repository(os.path.dirname(os.path.realpath(script))),
            "notes": list(notes)}
