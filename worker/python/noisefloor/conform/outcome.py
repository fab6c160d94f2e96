"""What a run of a script came to: the digest of what it has learnt.

Of the best that there is: parameters that optimisers of PyTorch or models of Keras train; else the
arrays of JAX, of PyTorch or of numpy that each place in the person's code was given, in whatever
order; else numbers. What is printed does not count: times are printed, too.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from typing import Any, Callable

_MOST = 200  # Objects of a kind that are kept.
_optimisers: list[Any] = []
_models: list[Any] = []
# By tier and place: the sum of the hashes of all values, so that their order does not count.
_sums: dict[str, dict[str, int]] = {}


def observe(place: str, function: Any, result: Any) -> None:
    kind = type(result)
    if kind in (int, str, bool, type(None), bytes):
        return
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "optim"):
        if isinstance(result, torch.optim.Optimizer):
            _keep(_optimisers, result)
            return
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "Model") and isinstance(result, keras.Model):
        _keep(_models, result)
        return
    if kind is float and not _is_own(function):
        return  # Of libraries: times, sizes, and what else is rounded for people.
    for leaf in _leaves(result):
        tier, content = _content(leaf)
        if content:
            places = _sums.setdefault(tier, {})
            if place in places or len(places) < 20 * _MOST:
                digest = hashlib.blake2b(content, digest_size=16).digest()
                places[place] = (places.get(place, 0) + int.from_bytes(digest, "little")) % 2**128


def _keep(kept: list[Any], value: Any) -> None:
    if len(kept) < _MOST and not any(value is other for other in kept):
        kept.append(value)


def _is_own(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    from noisefloor.conform.rewrite import is_own
    return code is not None and is_own(code.co_filename)


def outcome() -> dict[str, Any]:
    """{"of": what was looked at, "digest": of each part}. Empty digests: nothing was found."""
    tiers: list[tuple[str, Callable[[], dict[str, str]]]] = [
        ("what optimisers train", _trained), ("weights of models", _weights),
        *((tier, functools.partial(_summed, tier)) for tier in _TIERS)]
    for of, parts in tiers:
        made = parts()
        if made:
            return {"of": of, "digest": made}
    return {"of": "nothing", "digest": {}}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _trained() -> dict[str, str]:
    made = {}
    for i, optimiser in enumerate(_optimisers):
        content = [_torch_bytes(p) for group in optimiser.param_groups for p in group["params"]]
        # In whatever order they are: another order of equal parameters is no other result.
        made[f"optimiser {i + 1}"] = _digest(b"".join(sorted(content)))
    return made


def _weights() -> dict[str, str]:
    made = {}
    for i, model in enumerate(_models):
        content = [array.tobytes() for array in model.get_weights()]
        if content:
            made[f"model {i + 1}"] = _digest(b"".join(content))
    return made


def _torch_bytes(tensor: Any) -> bytes:
    torch = sys.modules["torch"]
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    content: bytes = flat.view(torch.uint8).numpy().tobytes()
    return content


def _summed(tier: str) -> dict[str, str]:
    return {place: f"{total:032x}"[:16] for place, total in _sums.get(tier, {}).items()}


def _leaves(value: Any, depth: int = 4) -> list[Any]:
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = list(value)
    else:
        return [value]
    if depth == 0 or len(inner) > 10000:
        return []
    return [leaf for each in inner for leaf in _leaves(each, depth - 1)]


_TIERS = ("arrays of JAX", "tensors of PyTorch", "arrays of numpy", "numbers")
_SAMPLE = 65536  # Elements of an array that are looked at: a difference does not stay in one.


def _content(value: Any) -> tuple[str, bytes | None]:
    if isinstance(value, float):
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.floating):
            return "numbers", repr(value).encode()
    for tier, bytes_of in zip(_TIERS, (_jax_bytes, _tensor_bytes, _numpy_bytes)):
        content = bytes_of(value)
        if content:
            return tier, content
    return "", None


def _jax_bytes(value: Any) -> bytes | None:
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "Array"):
        return None
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return None
    if value.is_deleted() or not jax.numpy.issubdtype(value.dtype, jax.numpy.floating):
        return None
    import numpy
    return _numpy_bytes(numpy.asarray(value).astype(numpy.float32))


def _tensor_bytes(value: Any) -> bytes | None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor") or not isinstance(value, torch.Tensor):
        return None
    if value.numel() == 0 or not value.is_floating_point() or value.layout != torch.strided:
        return None
    flat = value.detach().reshape(-1)
    return _torch_bytes(flat[::1 + flat.numel() // _SAMPLE])


def _numpy_bytes(value: Any) -> bytes | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.floating)):
        return None
    if value.size == 0 or value.dtype.kind not in "fc":
        return None
    flat = numpy.ravel(value)
    content: bytes = flat[::1 + flat.size // _SAMPLE].tobytes()
    return content
