"""Sentences of pages in Markdown: how long they are, and which words a reader from outside stumbles over. Also the
names of tests, docstrings and comments with such words.

`python tests/docs/prose.py PAGE...` prints what to rewrite; without a page, of all of them.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

CHECKOUT: Final = Path(__file__).resolve().parents[2]
WORDS_MAX: Final = 30
PAGES: Final = (
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").rglob("*.md")),
)
_END: Final = re.compile(r"(?<=[.!?])[)\"']*\s+")
_NO_END: Final = re.compile(r"(?:e\.g|i\.e|vs|cf|etc|approx)\.$")
_WORD: Final = re.compile(r"[^\W_]")
_CODE: Final = re.compile(r"`[^`]*`|\b[A-Z][A-Z_]+\b")
STUMBLED: Final = re.compile(
    r"\b(told|whoever|whom|himself|he|his|anew|everybody|nobody|somebody|thrice|of its own accord)\b", re.IGNORECASE
)
"""Words of riddles: a program is "it", and a sentence names what it speaks of."""


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence of a page with the line of its paragraph. Code counts as one word, a cell of a table is a text of
    its own, blocks of code are left out."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "inline" and token.map is not None:
            for sentence in _split(_plain(token)):
                yield token.map[0] + 1, sentence


def words(sentence: str) -> int:
    return sum(1 for word in sentence.split() if _WORD.search(word))


def too_long(page: Path) -> list[tuple[int, str]]:
    """The sentences of more than WORDS_MAX words."""
    return [found for found in sentences(page.read_text(encoding="utf-8")) if words(found[1]) > WORDS_MAX]


def stumbled(page: Path) -> list[tuple[int, str]]:
    """The sentences with a word of STUMBLED."""
    return [found for found in sentences(page.read_text(encoding="utf-8")) if STUMBLED.search(found[1])]


def remarks(file: Path) -> Iterator[tuple[int, str]]:
    """Each name of a test, docstring and comment of a Python file with its line, without code in backticks and names of
    constants."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, _CODE.sub("CODE", node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _CODE.sub("CODE", token.string)


def _plain(inline: Token) -> str:
    parts = []
    for child in inline.children or ():
        if child.type == "code_inline":
            parts.append("CODE" if " " in child.content else child.content.rstrip(".!?"))
        elif child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        else:
            parts.append(child.content)
    return "".join(parts)


def _split(text: str) -> Iterator[str]:
    held = ""
    for part in _END.split(text):
        held = f"{held} {part}".strip()
        if not _NO_END.search(held):
            yield held
            held = ""
    if held:
        yield held


if __name__ == "__main__":
    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        for line, sentence in too_long(page):
            print(f"{page}:{line}: {words(sentence)} words: {sentence}")  # noqa: T201
        for line, sentence in stumbled(page):
            print(f"{page}:{line}: {STUMBLED.findall(sentence)}: {sentence}")  # noqa: T201
