"""What a hardware class asks of libraries that our worker's own variables do not reach.

A worker starts trainers with variables of the class for LibTorch, oneDNN and MKL. From those this
module makes what XLA, OpenBLAS and numpy read when they are loaded.
"""

from __future__ import annotations

import os
import sys

# By ATEN_CPU_CAPABILITY, which the worker sets: XLA's and OpenBLAS's names of that set, and what
# numpy must leave alone above its baseline.
_SETS = {
    "default": ("SSE4_2", "Nehalem", "AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_CLX "
                "AVX512_CNL AVX512_ICL AVX512_SPR"),
    "avx2": ("AVX2", "Haswell", "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL "
             "AVX512_SPR"),
    "avx512": ("AVX512", "SkylakeX", ""),
}


def wanted() -> dict[str, str]:
    """Variables that should be set before libraries load; none when no worker started us."""
    names = _SETS.get(os.environ.get("ATEN_CPU_CAPABILITY", ""))
    if names is None:
        return {}
    flags = os.environ.get("XLA_FLAGS", "")
    for flag in (f"--xla_cpu_max_isa={names[0]}", "--xla_cpu_multi_thread_eigen=false"):
        if flag.partition("=")[0] not in flags:
            flags = f"{flags} {flag}".strip()
    variables = {"XLA_FLAGS": flags, "OPENBLAS_CORETYPE": names[1], "OPENBLAS_NUM_THREADS": "1",
                 "TF_NUM_INTEROP_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
    if names[2]:
        variables["NPY_DISABLE_CPU_FEATURES"] = names[2]
    return variables


def prepare() -> None:
    """Sets them, for libraries that are not loaded yet. PYTHONHASHSEED is the interpreter's, too."""
    missing = {name: value for name, value in wanted().items() if os.environ.get(name) != value}
    os.environ.update(missing)
    if missing and _too_late() and "NOISEFLOOR_STARTED_ANEW" not in os.environ:
        os.environ["NOISEFLOOR_STARTED_ANEW"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _too_late() -> bool:
    # Torch has read its own variables, which were there from the start. It brings no BLAS that
    # reads these, but it loads numpy.
    return any(name in sys.modules for name in ("jax", "tensorflow", "numpy")) \
        and "torch" not in sys.modules
