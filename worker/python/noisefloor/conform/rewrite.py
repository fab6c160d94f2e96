"""A person's code with its calls, loops over sets and switches made visible, line for line.

`f(x)` becomes `__nf_call__("train.py:7:4", f, x)`, `for x in s` iterates over `__nf_iter__(...)`.
Packages that are installed stay as they are.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Sequence

# What reads the frame that calls it, or is too plain to matter.
_LEFT_ALONE = {
    "super", "locals", "globals", "vars", "dir", "eval", "exec", "len", "isinstance", "issubclass",
    "range", "abs", "type", "hasattr", "print", "property", "staticmethod", "classmethod",
    "namedtuple", "NamedTuple", "Enum", "IntEnum", "TypedDict", "TypeVar", "ParamSpec", "NewType",
    "make_dataclass", "_getframe", "currentframe", "stack", "getLogger", "warn"}
_TOLD = {"in_order"}  # Arguments whose own line is that of the call.
# Attributes that are switches of frameworks where their owner is one.
SWITCHES = {"benchmark", "deterministic", "allow_tf32"}


class _Rewriter(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._name = name

    def _place(self, node: Any) -> ast.Constant:
        return ast.Constant(f"{self._name}:{node.lineno}:{node.col_offset}")

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        called = node.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        if name in _LEFT_ALONE or name.startswith("__nf_"):
            return node
        told = next((k for k in node.keywords if k.arg in _TOLD), node)
        made = ast.Call(ast.Name("__nf_call__", ast.Load()), [self._place(told), called, *node.args],
                        node.keywords)
        return self._at(made, node)

    def _iterated(self, node: Any) -> Any:
        made = ast.Call(ast.Name("__nf_iter__", ast.Load()), [self._place(node), node], [])
        return self._at(made, node)

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self._iterated(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._iterated(node.iter)
        return node

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._iterated(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        noted: list[Any] = [node]
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in SWITCHES:
                owner = ast.parse(ast.unparse(target.value), mode="eval").body
                call = ast.Call(ast.Name("__nf_switch__", ast.Load()),
                                [self._place(node), owner, ast.Constant(target.attr)], [])
                noted.append(self._at(ast.Expr(call), node))
        return noted

    @staticmethod
    def _at(made: Any, node: Any) -> Any:
        ast.copy_location(made, node)
        return ast.fix_missing_locations(made)


def compiled(source: bytes | str, path: str, name: str) -> types.CodeType:
    tree = ast.parse(source, path)
    return compile(ast.fix_missing_locations(_Rewriter(name).visit(tree)), path, "exec",
                   dont_inherit=True)


class _Loader(importlib.machinery.SourceFileLoader):
    """Leaves no compiled files behind, and takes none."""

    def __init__(self, fullname: str, path: str, shown: str) -> None:
        super().__init__(fullname, path)
        self._shown = shown

    def get_code(self, fullname: str) -> types.CodeType:
        return compiled(self.get_data(self.path), self.path, self._shown)


class Finder:
    """Goes before all others in sys.meta_path."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: Any = None) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if spec.origin is None or not is_own(spec.origin):
            return None
        spec.loader = _Loader(fullname, spec.origin, shown(spec.origin, self._folder))
        return spec


def shown(path: str, folder: str) -> str:
    """As people call the file: from the script's folder on, where it is in there."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    return path if relative.startswith("..") else relative


def is_own(path: str) -> bool:
    """Whether a file is a person's own: below the folders that are theirs, and not installed."""
    real = os.path.realpath(path)
    parts = real.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    roots = os.environ.get("NOISEFLOOR_CONFORM_ROOTS", "").split(os.pathsep)
    return any(root and real.startswith(root + os.sep) for root in roots)


def imports_of(module: str) -> str | None:
    """The path of a module's source: for `python -m`."""
    found = importlib.util.find_spec(module)
    if found is not None and found.submodule_search_locations:
        found = importlib.util.find_spec(module + ".__main__")
    return found.origin if found is not None else None


def install(folder: str) -> None:
    sys.meta_path.insert(0, Finder(folder))
