"""The command that a person types, taken apart: which Python, which script, which arguments."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import sys
from typing import Iterator, NamedTuple, Sequence


class Command(NamedTuple):
    python: list[str]  # The interpreter and its flags.
    script: list[str]  # A path, absolute, or "-m" and a module.
    arguments: list[str]

    @property
    def folder(self) -> str:
        """Where the script is; what is below it is the person's own."""
        return os.path.dirname(self.script[0]) if self.script[0] != "-m" else os.getcwd()

    @property
    def words(self) -> list[str]:
        return [*self.python, *self.script, *self.arguments]

    def is_member(self) -> bool:
        """Whether the script, or what it imports of the person's own, imports noisefloor.member."""
        roots = [self.folder, os.getcwd()]
        waiting = _files_of(self.script[1] + ".__main__", roots) if self.script[0] == "-m" \
            else [self.script[0]]
        seen: set[str] = set()
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            for name, level in _imports_of(_text(path)):
                if level == 0 and name.startswith("noisefloor.member"):
                    return True
                waiting += _files_of(name, roots if level == 0 else [_above(path, level)])
        return False

    def observed(self) -> list[str]:
        return [*self.python, "-m", "noisefloor.conform.observe", *self.script, *self.arguments]


def _imports_of(text: str) -> Iterator[tuple[str, int]]:
    """Dotted names, and how many dots stand before them."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # The script's Python may be a newer one.
        for whole, of, name in re.findall(
                r"^\s*(?:import\s+([\w.]+)|from\s+(\w[\w.]*)\s+import\s+\(?\s*(\w+))", text, re.M):
            yield whole or f"{of}.{name}", 0
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((one.name, 0) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = f"{node.module}." if node.module else ""
            yield from ((before + one.name, node.level) for one in node.names)


def _files_of(name: str, roots: Sequence[str]) -> list[str]:
    """The module and the packages that it is in, as far as they lie below the roots."""
    parts = name.split(".")
    places = [os.path.join(root, *parts[:depth])
              for root in roots for depth in range(1, len(parts) + 1)]
    files = [place + end for place in places for end in (".py", os.sep + "__init__.py")]
    return [path for path in files if os.path.isfile(path)]


def _above(path: str, level: int) -> str:
    for _ in range(level):
        path = os.path.dirname(path)
    return path


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class BadCommand(Exception):
    """What is wrong with it, for people."""


_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def parse(words: Sequence[str]) -> Command:
    if not words:
        raise BadCommand("expected a command, such as: -- python train.py")
    if words[0].endswith(".py"):
        return Command(_interpreter_of(words[0]), [_existing(words[0])], list(words[1:]))
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        if words[at] in ("-I", "-E", "-c", "-i", "-s"):
            raise BadCommand(f"{words[at]}: this flag of Python cannot be checked")
        at += 2 if words[at] in _WITH_VALUE else 1
    if at < len(words) - 1 and words[at] == "-m":
        return Command(_started(words[:at]), list(words[at:at + 2]), list(words[at + 2:]))
    if at < len(words) and (words[at].endswith(".py") or os.path.isfile(words[at])):
        return Command(_started(words[:at]), [_existing(words[at])], list(words[at + 1:]))
    raise BadCommand(f"{shlex.join(words)}: expected a Python, then a script or -m MODULE; "
                     "of other launchers give the command that they start")


def _started(python: Sequence[str]) -> list[str]:
    if shutil.which(python[0]) is None:
        raise BadCommand(f"{python[0]}: no such program")
    return list(python)


def _existing(path: str) -> str:
    if not os.path.isfile(path):
        raise BadCommand(f"{path}: no such file")
    return os.path.abspath(path)


def _interpreter_of(script: str) -> list[str]:
    path = _existing(script)
    with open(path, "rb") as file:
        first = file.readline().decode(errors="replace")
    if not first.startswith("#!"):
        return [sys.executable]
    words = shlex.split(first[2:])
    return words[1:] if words and os.path.basename(words[0]) == "env" else words
