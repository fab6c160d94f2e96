"""The settings that a script has: what it publishes, and what sweep files set and vary."""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Sequence, Union

Setting = dict[str, Any]  # As worker/trainer/README.md, "Settings".
Settings = Union[Mapping[str, Any], Sequence[Setting]]

_MOST = float(1 << 53)
# As common/trainer_protocol/schema_json.cc: what a sweep file and a specification have besides
# settings, and what paths are made of.
TAKEN = ("name", "seed", "axes", "noise", "hardware", "hardware_class", "stack", "replicates",
         "blocks", "notes", "tags", "reference_accuracy", "stacks", "until", "kind", "design")
_PATH = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_MOST_PATH = 200  # Bytes.


def boolean(path: str, otherwise: bool, help: str = "") -> Setting:
    return _setting(path, "boolean", otherwise, help)


def integer(path: str, otherwise: int, least: float = -_MOST, most: float = _MOST,
            help: str = "") -> Setting:
    return _setting(path, "integer", otherwise, help, least=least, most=most)


def number(path: str, otherwise: float, least: float = -1e300, most: float = 1e300,
           help: str = "") -> Setting:
    return _setting(path, "number", otherwise, help, least=least, most=most)


def choice(path: str, otherwise: str, choices: Sequence[str], help: str = "") -> Setting:
    return _setting(path, "choice", otherwise, help, choices=list(choices))


def text(path: str, otherwise: str, most: int = 1000, help: str = "") -> Setting:
    """`most`: bytes."""
    return _setting(path, "text", otherwise, help, most=most)


def integers(path: str, otherwise: Sequence[int], least: float = -_MOST, most: float = _MOST,
             help: str = "") -> Setting:
    """A list of integers."""
    return _setting(path, "integers", list(otherwise), help, least=least, most=most)


def _setting(path: str, kind: str, otherwise: Any, help: str, **limits: Any) -> Setting:
    setting = {"path": path, "kind": kind, "otherwise": otherwise, **limits}
    return {**setting, "help": help} if help else setting


def schema_of(settings: Settings) -> list[Setting]:
    """What is published of them: of a mapping of paths to defaults, settings of the defaults' kinds
    without limits; those of a section together, as a schema wants them. ValueError: no worker would
    take a path."""
    if isinstance(settings, Mapping):
        made = [_of_default(path, settings[path]) for path in _by_section(settings)]
    else:
        made = [dict(setting) for setting in settings]
    for setting in made:
        _check_path(setting["path"])
    return made


def _check_path(path: str) -> None:
    if len(path) > _MOST_PATH or not _PATH.fullmatch(path):
        raise ValueError(f"setting {path!r}: expected parts of lower-case letters, digits, '_' and "
                         f"'-', joined by dots, {_MOST_PATH} bytes at most")
    first = path.partition(".")[0]
    if first in TAKEN:
        raise ValueError(f"setting {path!r}: sweep files have a {first!r} of their own; name it "
                         "otherwise")


def _by_section(paths: Iterable[str]) -> list[str]:
    places: dict[str, int] = {}
    for path in paths:
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            places.setdefault(".".join(parts[:depth]), len(places))

    def key(path: str) -> list[int]:
        parts = path.split(".")
        return [places[".".join(parts[:depth])] for depth in range(1, len(parts) + 1)]

    return sorted(paths, key=key)


def _of_default(path: str, value: Any) -> Setting:
    if isinstance(value, bool):
        return boolean(path, value)
    if isinstance(value, int):
        return integer(path, value)
    if isinstance(value, float):
        return number(path, value)
    if isinstance(value, str):
        return text(path, value)
    if isinstance(value, (list, tuple)) and all(type(v) is int for v in value):
        return integers(path, value)
    raise TypeError(f"setting {path}: expected a boolean, a number, a text or a list of integers, "
                    f"got {value!r}")


def defaults(schema: Iterable[Setting]) -> dict[str, Any]:
    """By path."""
    return {setting["path"]: setting["otherwise"] for setting in schema}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}, as a specification has it."""
    result: dict[str, Any] = {}
    for path, value in values.items():
        *sections, last = path.split(".")
        inner = result
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = value
    return result


def flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The other way."""
    result: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            result.update(flat(value, f"{prefix}{key}."))
        else:
            result[prefix + key] = value
    return result


def problem_with(setting: Setting, value: Any) -> str:
    """Why the setting does not take the value; empty: it does. As the coordinator says it."""
    kind = setting["kind"]
    good: bool
    if kind == "boolean":
        good, expected = isinstance(value, bool), "true or false"
    elif kind in ("integer", "number"):
        types = (int,) if kind == "integer" else (int, float)
        good = type(value) in types and setting["least"] <= value <= setting["most"]
        article = "an integer" if kind == "integer" else "a number"
        expected = f"{article} from {setting['least']:g} to {setting['most']:g}"
    elif kind == "choice":
        good, expected = value in setting["choices"], "one of " + ", ".join(setting["choices"])
    elif kind == "text":
        good = isinstance(value, str) and len(value.encode()) <= setting["most"]
        expected = f"a text of at most {setting['most']} bytes"
    else:
        good = isinstance(value, list) and all(
            type(v) is int and setting["least"] <= v <= setting["most"] for v in value)
        expected = f"a list of integers from {setting['least']:g} to {setting['most']:g}"
    return "" if good else f"{setting['path']}: expected {expected}, got {value!r}"
