"""Methods of both clients, made of the functions of calls.py: one signature, one docstring."""

from __future__ import annotations

import inspect
from typing import Any, Callable


def dress(method: Any, make: Callable[..., Any]) -> None:
    """Gives a method name, words and parameters of the function that it is made of."""
    method.__name__ = make.__name__
    method.__qualname__ = make.__qualname__
    method.__doc__ = make.__doc__
    method.__module__ = make.__module__
    method.__annotations__ = make.__annotations__
    given = inspect.signature(make)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kind, _, inner = str(given.return_annotation).removesuffix("]").partition("[")
    method.__signature__ = given.replace(
        parameters=[itself, *given.parameters.values()],
        return_annotation=f"list[{inner}]" if kind == "Pages" else inner)
