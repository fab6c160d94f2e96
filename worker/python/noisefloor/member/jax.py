"""For scripts of JAX: keys and initial weights of a member."""

from __future__ import annotations

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
    with "weight", else zeros. init: as run.init.weight has it. Tells the run the initial
    parameters."""
    made = {}
    for name, shape in shapes.items():
        if len(shape) < 2:
            made[name] = np.full(shape, 1.0 if name.endswith("weight") else 0.0, np.float32)
            continue
        made[name] = run.init.weight(name, shape, init)
    run.initial(made)
    return {name: jnp.asarray(value) for name, value in made.items()}


def to_host(state: Any) -> Any:
    """For run.checkpoint: arrays as numpy's, which can be pickled; the tree stays as it is."""
    return jax.tree_util.tree_map(np.asarray, state)


def to_device(state: Any) -> Any:
    """The other way, of what run.restore() gave."""
    return jax.tree_util.tree_map(jnp.asarray, state)
