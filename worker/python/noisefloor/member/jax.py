"""For scripts of JAX: keys and initial weights of a member."""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from noisefloor.member.run import Run
from noisefloor.member.sources import Source


def key(source: Source, *parts: Any) -> Any:
    """A key of jax.random of its own for each key of numbers and texts."""
    return jax.random.key(source.key(*parts) >> 1)


def initialise(run: Run, shapes: Mapping[str, Sequence[int]],
               init: str = "glorot_uniform") -> dict[str, Any]:
    """Parameters by name, drawn as our own trainer draws them: those of two dimensions or more
    ({out, in} or {out, in, height, width}) by their names; of one dimension ones where the name ends
    with "weight", else zeros. Tells the run the initial parameters."""
    made = {}
    for name, shape in shapes.items():
        if len(shape) < 2:
            made[name] = np.full(shape, 1.0 if name.endswith("weight") else 0.0, np.float32)
            continue
        taps = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * taps, shape[0] * taps
        if init == "he_normal":
            made[name] = run.init.normal(name, shape, float(np.float32(math.sqrt(2.0 / fan_in))))
        elif init == "glorot_uniform":
            limit = float(np.float32(math.sqrt(6.0 / (fan_in + fan_out))))
            made[name] = run.init.uniform(name, shape, limit)
        else:
            raise ValueError(f"init={init!r}: expected 'glorot_uniform' or 'he_normal'")
    run.initial(made)
    return {name: jnp.asarray(value) for name, value in made.items()}


def to_host(state: Any) -> Any:
    """For run.checkpoint: arrays as numpy's, which can be pickled; the tree stays as it is."""
    return jax.tree_util.tree_map(np.asarray, state)


def to_device(state: Any) -> Any:
    """The other way, of what run.restore() gave."""
    return jax.tree_util.tree_map(jnp.asarray, state)
