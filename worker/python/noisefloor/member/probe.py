"""Whether a script's framework works on a hardware class: the answer to --probe."""

from __future__ import annotations

import sys
from typing import Any


def probe(hardware_class: str) -> dict[str, Any]:
    """worker/trainer/README.md, "Probes"."""
    try:
        devices, facts = _try(hardware_class)
    except Exception as error:
        return {"probes": 1, "works": False, "reason": f"{type(error).__name__}: {error}"[:2000],
                "devices": [], "facts": {}}
    return {"probes": 1, "works": True, "reason": "", "devices": devices, "facts": facts}


def _try(hardware_class: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    on_gpu = hardware_class.startswith("nvidia-")
    if "torch" in sys.modules:
        return _torch_gpus() if on_gpu else _torch_cpu()
    if "jax" in sys.modules:
        return _jax(on_gpu, hardware_class)
    if "tensorflow" in sys.modules:
        return _tensorflow(on_gpu)
    if on_gpu:
        raise RuntimeError("the script imports neither torch, jax nor tensorflow: it computes on "
                           "processors only")
    return [], {}


def _torch_cpu() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    torch = sys.modules["torch"]
    _check(float((torch.ones(64, 64) @ torch.ones(64, 64)).sum()))
    return [], {}


def _torch_gpus() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    torch = sys.modules["torch"]
    devices = []
    for i in range(torch.cuda.device_count()):
        ones = torch.ones(64, 64, device=f"cuda:{i}")
        _check(float((ones @ ones).sum()))
        properties = torch.cuda.get_device_properties(i)
        devices.append({"name": properties.name, "memory_bytes": properties.total_memory})
    if not devices:
        raise RuntimeError("torch sees no GPU")
    return devices, {"cuda": torch.version.cuda or "",
                     "cudnn": str(torch.backends.cudnn.version() or "")}


def _jax(on_gpu: bool, hardware_class: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    jax = sys.modules["jax"]
    ones = jax.numpy.ones((64, 64))
    _check(float((ones @ ones).sum()))
    seen = jax.devices()
    if hardware_class.startswith("cpu-") != (seen[0].platform == "cpu"):
        raise RuntimeError(f"jax computes on {seen[0].platform}")
    if not on_gpu:
        return [], {} if seen[0].platform == "cpu" else {"device": seen[0].device_kind}
    facts = {"platform": seen[0].client.platform_version}
    return [{"name": d.device_kind, "memory_bytes": int((d.memory_stats() or {}).get(
        "bytes_limit", 0))} for d in seen], facts


def _tensorflow(on_gpu: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    tensorflow = sys.modules["tensorflow"]
    ones = tensorflow.ones((64, 64))
    _check(float(tensorflow.reduce_sum(tensorflow.matmul(ones, ones))))
    if not on_gpu:
        return [], {}
    experimental = tensorflow.config.experimental
    seen = [experimental.get_device_details(d) for d in tensorflow.config.list_physical_devices("GPU")]
    if not seen:
        raise RuntimeError("tensorflow sees no GPU")
    built = tensorflow.sysconfig.get_build_info()
    return [{"name": d["device_name"], "memory_bytes": 0} for d in seen], {
        "cuda": str(built.get("cuda_version", "")), "cudnn": str(built.get("cudnn_version", ""))}


def _check(total: float) -> None:
    if total != 64.0**3:
        raise RuntimeError(f"a product of matrices of ones is wrong: {total}")
