"""Finds code that changes a `ClusterState` which it does not own, by `ast`.

Rules
* A state is whatever is called `state` or `_state`, as a name or an attribute. What is read from it (by attribute,
  subscript or call), also by way of a local name, belongs to it.
* To assign to such a thing, to delete it, or to call a method of it that changes a dict, set or list is a violation.
* A method of the state itself is none: that is how it is changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

STATES: Final = ("state", "_state")
CHANGING: Final = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
)


def changes(source: str) -> list[int]:
    """The lines that change a state."""
    found: set[int] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.Module):
            found |= set(_Function(function).lines())
    return sorted(found)


class _Function:
    def __init__(self, function: ast.FunctionDef | ast.Module) -> None:
        self._nodes = list(_own(function))
        self._aliases: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Assign) and self._is_below(node.value, 1):
                self._aliases |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            if isinstance(node, ast.NamedExpr) and self._is_below(node.value, 1):
                self._aliases.add(node.target.id)

    def lines(self) -> Iterator[int]:
        for node in self._nodes:
            if isinstance(node, ast.Assign | ast.Delete):
                targets = node.targets
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                targets = [node.func]
            else:
                continue
            for target in (part for one in targets for part in _parts(one)):
                if not isinstance(target, ast.Attribute | ast.Subscript) or not self._is_below(target.value, 0):
                    continue
                if not (isinstance(node, ast.Call) and _is_state(target.value)):  # a method of the state
                    yield node.lineno

    def _is_below(self, node: ast.expr, depth: int) -> bool:
        """Whether the expression is a state, or was read from one by at least `depth` steps."""
        if isinstance(node, ast.Name) and node.id in self._aliases:
            return True
        if _is_state(node):
            return depth <= 0
        if isinstance(node, ast.Attribute | ast.Subscript):
            return self._is_below(node.value, depth - 1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "pop"}:
            return self._is_below(node.func.value, depth - 1)
        return False


def _is_state(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
    return name in STATES


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, but for functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef):
            yield child
            yield from _own(child)


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _parts(one)
    else:
        yield target


def below(folder: Path, *names: str) -> list[str]:
    """`file:line` of every violation in these files and folders."""
    files = [file for name in names for file in ((folder / name).rglob("*.py") if "." not in name else [folder / name])]
    assert len(files) >= len(names)
    return [
        f"{file.relative_to(folder)}:{line}" for file in files for line in changes(file.read_text(encoding="utf-8"))
    ]
