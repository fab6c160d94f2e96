"""The generators that a process has and that libraries draw from: random, numpy.random, torch."""

from __future__ import annotations

import random
import sys
from typing import Any

# What they are seeded with outside of every source's body: equal in all members.
GROUND = 0x6E6F697365

_seeded = GROUND  # Last, with what has a state that cannot be asked for.


def seed_all(seed: int) -> None:
    """`seed`: 64 bits. Of what is imported."""
    global _seeded
    _seeded = seed
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])
    torch = sys.modules.get("torch")
    if torch is not None:
        _seed_torch(torch, seed)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        _seed_tensorflow(tensorflow, seed)
    keras = sys.modules.get("keras")
    if keras is not None:
        _keras_state().assign(_of_seed(seed))


def states() -> dict[str, Any]:
    """What restore() needs; can be pickled."""
    result: dict[str, Any] = {"random": random.getstate(), "seeded": _seeded}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        result["numpy"] = numpy.random.get_state()
    torch = sys.modules.get("torch")
    if torch is not None:
        result["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            result["cuda"] = torch.cuda.get_rng_state_all()
    keras = sys.modules.get("keras")
    if keras is not None:
        import numpy as np
        result["keras"] = np.asarray(keras.ops.convert_to_numpy(_keras_state()))
    return result


def restore(before: dict[str, Any]) -> None:
    """What was imported since then goes back to the ground; TensorFlow, and CUDA where it was not
    yet begun, to the beginning of what they were seeded with."""
    global _seeded
    _seeded = before.get("seeded", GROUND)
    random.setstate(before["random"])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if "numpy" in before:
            numpy.random.set_state(before["numpy"])
        else:
            numpy.random.seed(GROUND & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None:
        if "cuda" not in before:
            _seed_torch(torch, _seeded)
        if "torch" in before:
            torch.set_rng_state(before["torch"])
        if "cuda" in before:
            torch.cuda.set_rng_state_all(before["cuda"])
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        _seed_tensorflow(tensorflow, _seeded)
    if "keras" in before:
        _keras_state().assign(before["keras"])


def _seed_torch(torch: Any, seed: int) -> None:
    """And CUDA, now or when it begins. Torch takes seeds of 64 bits with a sign."""
    torch.manual_seed(seed - (1 << 64) if seed >> 63 else seed)


def _seed_tensorflow(tensorflow: Any, seed: int) -> None:
    tensorflow.random.set_seed(seed >> 1)


def _keras_state() -> Any:
    """The seed that Keras's layers draw from where they are given none."""
    from keras.src.random import seed_generator  # Keras has no public name for it.
    return seed_generator.global_seed_generator().state


def _of_seed(seed: int) -> Any:
    import numpy as np
    state = _keras_state()
    kind = str(state.dtype)
    words = np.array([seed & 0xFFFFFFFF, seed >> 32], dtype=np.uint64)
    return (words & 0x7FFFFFFF).astype(kind) if "int32" in kind and kind[0] == "i" else \
        words.astype(kind)
