"""Switches of frameworks that decide bits: set as the member's sources ask, and read back.

`kernels` fixed: deterministic algorithms. `autotune` fixed: no choice of algorithms by timing.
What is set is read again, through another call where there is one, and once more at the end.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from noisefloor.member import draws
from noisefloor.member.errors import Refused
from noisefloor.member.run import Run

Switches = dict[str, Any]


def set_switches(run: Run) -> Switches:
    """Of the frameworks that are imported; what was read back. Refused: one does not obey."""
    switches: Switches = {}
    for name, setter in _SETTERS.items():
        if name in sys.modules:
            setter(sys.modules[name], run)
            switches[name] = _READERS[name](sys.modules[name])
    return switches


def check_switches(run: Run, before: Switches) -> None:
    """Refused: the script has changed one, by name. One that was imported since then is noted."""
    for name, reader in _READERS.items():
        if name not in sys.modules:
            continue
        now = reader(sys.modules[name])
        if name not in before:
            run.notes.append(f"{name} was imported after its switches were set: import it first")
            before[name] = now
        for switch, value in now.items():
            if before[name].get(switch) != value:
                raise Refused(f"the script has changed {name}'s switch {switch} from "
                              f"{before[name].get(switch)} to {value}: leave it to the noise plan, "
                              "or change it before nf.main")


def _set_torch(torch: Any, run: Run) -> None:
    deterministic = not run.kernels.free
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8" if deterministic else "")
    torch.use_deterministic_algorithms(deterministic, warn_only=False)
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.benchmark = run.autotune.free
    threads = run.settings.get("sources.threads.choices")
    if threads and not run.threads.off:
        drawn = draws.bits(run.threads.seed, 0, 0)
        torch.set_num_threads(threads[draws.below(drawn, len(threads))])
    if torch.are_deterministic_algorithms_enabled() != deterministic:
        raise Refused("torch does not take use_deterministic_algorithms")


def _read_torch(torch: Any) -> dict[str, Any]:
    cudnn, backends = torch.backends.cudnn, torch.backends
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill_uninitialized_memory": torch.utils.deterministic.fill_uninitialized_memory,
        "cudnn_deterministic": cudnn.deterministic, "cudnn_benchmark": cudnn.benchmark,
        "cudnn_enabled": cudnn.enabled,
        "cudnn_allow_tf32": _old_or_new(lambda: cudnn.allow_tf32,
                                        lambda: {"conv": cudnn.conv, "rnn": cudnn.rnn}),
        "matmul_allow_tf32": _old_or_new(lambda: backends.cuda.matmul.allow_tf32,
                                         lambda: {"cuda": backends.cuda.matmul}),
        "matmul_precision": _old_or_new(
            torch.get_float32_matmul_precision,
            lambda: {"cuda": backends.cuda.matmul, "mkldnn": backends.mkldnn.matmul}),
        "mkldnn_enabled": backends.mkldnn.enabled,
        "default_dtype": str(torch.get_default_dtype()),
        "threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads()}


def _old_or_new(old: Callable[[], Any], new: Callable[[], dict[str, Any]]) -> Any:
    """PyTorch refuses to read a switch of precision by its old name where the new one,
    fp32_precision, says what that cannot say: then it is read where the new one has it."""
    try:
        return old()
    except RuntimeError:
        return ", ".join(f"{name} {place.fp32_precision}" for name, place in new().items())


def _set_jax(jax: Any, run: Run) -> None:
    # XLA's own switches are read when it first compiles.
    flags = os.environ.get("XLA_FLAGS", "")
    if run.hardware_class.startswith("nvidia-") and not run.kernels.free:
        if "xla_gpu_deterministic_ops" not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()
    if run.hardware_class.startswith("nvidia-") and not run.autotune.free:
        if "xla_gpu_autotune_level" not in flags:
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} " \
                                      "--xla_gpu_autotune_level=0".strip()


def _read_jax(jax: Any) -> dict[str, Any]:
    config = jax.config
    return {"xla_flags": os.environ.get("XLA_FLAGS", ""), "platforms": config.jax_platforms or "",
            "enable_x64": config.jax_enable_x64,
            "default_matmul_precision": str(config.jax_default_matmul_precision),
            "threefry_partitionable": config.jax_threefry_partitionable,
            "default_prng_impl": config.jax_default_prng_impl}


def _set_tensorflow(tensorflow: Any, run: Run) -> None:
    if not run.kernels.free:
        tensorflow.config.experimental.enable_op_determinism()


def _read_tensorflow(tensorflow: Any) -> dict[str, Any]:
    threading = tensorflow.config.threading
    return {"deterministic_ops": os.environ.get("TF_DETERMINISTIC_OPS", ""),
            "tf32": tensorflow.config.experimental.tensor_float_32_execution_enabled(),
            "intra_op_threads": threading.get_intra_op_parallelism_threads(),
            "inter_op_threads": threading.get_inter_op_parallelism_threads()}


_SETTERS: dict[str, Callable[[Any, Run], None]] = {
    "torch": _set_torch, "jax": _set_jax, "tensorflow": _set_tensorflow}
_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "torch": _read_torch, "jax": _read_jax, "tensorflow": _read_tensorflow}
