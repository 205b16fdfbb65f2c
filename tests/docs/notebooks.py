"""Runs the code cells of a notebook from top to bottom, and compares or writes what they print.

    python tests/docs/notebooks.py examples/planning.ipynb            # exit code 1 where the outputs are others
    python tests/docs/notebooks.py --write examples/planning.ipynb    # the outputs are those of now

Rules
* The cells share a namespace, as in Jupyter, but no kernel is started: a notebook is JSON, and its cells are Python.
* The outputs of a cell are what it prints. A value in its last line, which Jupyter would show, is refused: print it.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any


class RefusedCell(ValueError):
    """A cell shows something that only a kernel would keep."""


def outputs_of(notebook: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Each code cell with the outputs that it has now. Raises what a cell raises."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            with redirect_stdout(StringIO()) as printed:
                _run("".join(cell["source"]), str(cell["id"]), namespace)
            yield cell, _as_outputs(printed.getvalue())


def differing(notebook: Any) -> list[str]:
    """The ids of the code cells whose outputs in the notebook are others, or that have none though they print."""
    return [cell["id"] for cell, outputs in outputs_of(notebook) if cell["outputs"] != outputs]


def write(path: Path) -> None:
    """The outputs in the notebook are those of now."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for number, (cell, outputs) in enumerate(outputs_of(notebook), 1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(source: str, name: str, namespace: dict[str, Any]) -> None:
    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), namespace)  # noqa: S102 - to run it is the aim
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307 - as above
        if value is not None:
            raise RefusedCell(f"cell {name}: its last line is a value, {value!r:.100}; print it")


def _as_outputs(printed: str) -> list[Any]:
    if not printed:
        return []
    return [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}]


if __name__ == "__main__":
    *options, given = sys.argv[1:]
    if options == ["--write"]:
        write(Path(given))
    elif found := differing(json.loads(Path(given).read_text(encoding="utf-8"))):
        sys.exit(f"{given}: other outputs than committed in the cells {', '.join(found)}")
