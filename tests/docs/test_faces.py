"""What pages and examples import is public: a name of one of the faces, which says so in its `__all__`."""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sybil import Document
from sybil.parsers.markdown import CodeBlockParser

CHECKOUT: Final = Path(__file__).resolve().parents[2]
FACES: Final = (
    *("kedge", "kedge.gateway", "kedge.rig", "kedge.testing"),
    *("kedge.stores", "kedge.stores.faults", "kedge.stores.suite", "kedge.stores.transfer"),
    *("kedge.pipeline", "kedge.pipeline.audit", "kedge.pipeline.progress", "kedge.pipeline.spark"),
    *("kedge.pipeline.local", "kedge.pipeline.submit"),
)
PAGES: Final = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
EXAMPLES: Final = (*sorted((CHECKOUT / "examples").rglob("*.py")), *sorted((CHECKOUT / "examples").glob("*.ipynb")))
PRIVATE: Final = re.compile(r"kedge\.controller\.\w[.\w]*")


def programs(path: Path) -> Iterator[str]:
    """The Python code of a page, an example or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield text
    elif path.suffix == ".ipynb":
        cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        yield from ("".join(line for line in source if line[0] not in "%!") for source in cells)
    else:
        yield from (str(example.parsed) for example in Document.parse(str(path), CodeBlockParser("python")).examples())


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Module and name of all that it imports of Kedge; no name where it imports the module itself."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kedge":
            yield from ((node.module or "", one.name) for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names if one.name.partition(".")[0] == "kedge")


def is_public(module: str, name: str) -> bool:
    if f"{module}.{name}" in FACES or (module in FACES and not name):
        return True
    return module in FACES and name in importlib.import_module(module).__all__


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_only_public_names_are_imported(path: Path) -> None:
    assert [found for code in programs(path) for found in imported(code) if not is_public(*found)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_a_private_module(page: Path) -> None:
    assert PRIVATE.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("face", FACES)
def test_a_face_lists_what_it_has(face: str) -> None:
    module = importlib.import_module(face)
    assert module.__doc__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_a_private_name_is_found() -> None:
    assert list(imported("from kedge.controller.rig import Rig\nimport kedge.stores.etcd")) == [
        ("kedge.controller.rig", "Rig"),
        ("kedge.stores.etcd", ""),
    ]
    assert not is_public("kedge.controller.rig", "Rig")
    assert not is_public("kedge.stores", "nothing")
