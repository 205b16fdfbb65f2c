"""The modules of a checkout, and what each of them imports, read with `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

FOLDERS: Final = ("kedge", "controller", "stores", "pipeline")
"""Of the checkout. The last three are packages below `kedge`, which holds links to them."""


def circle(tree: Path) -> list[str]:
    """Modules below `tree` that import each other in a circle, the first one again at the end; empty if there is none.
    What a module imports inside a function or under TYPE_CHECKING counts."""
    files = modules(tree)
    known = frozenset(files)
    graph = {name: {one for _, one in imports(name, file, known)} & known - {name} for name, file in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules(tree: Path) -> dict[str, Path]:
    """Every module below the folders of FOLDERS: dotted name to file."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((tree / folder).rglob("*.py")):
            parts = file.relative_to(tree).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name if folder == "kedge" else f"kedge.{name}"] = file
    return found


def within(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def imports(module: str, file: Path, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import. `from a import b` names `a.b` where that is a module, otherwise `a`."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, package)
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield node.lineno, inner if inner in known else source
        elif isinstance(node, ast.Call):
            yield from _by_name(node, package)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _by_name(node: ast.Call, package: str) -> Iterator[tuple[int, str]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in {"import_module", "__import__"} and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield node.lineno, f"{package}{first.value}" if first.value.startswith(".") else first.value
