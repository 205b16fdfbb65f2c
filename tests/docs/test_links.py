"""Links of the pages lead somewhere: relative ones to a file of the checkout, anchors to a heading of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

CHECKOUT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (
    *sorted(CHECKOUT.glob("*.md")),
    *sorted(page for folder in ("docs", "examples") for page in (CHECKOUT / folder).rglob("*.md")),
)
ROOMS: Final = ("benchmarks", "controller", "examples", "kedge", "pipeline", "scripts", "servers", "stores", "tests")
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NAMED: Final = re.compile(r"(?<![\w/])docs/(?:[\w.-]+/)*[\w.-]+\.md(?:#[\w-]+)?")
_NOT_IN_A_SLUG: Final = re.compile(r"[^\w\- ]")


def links(page: Path) -> Iterator[str]:
    """The target of each link and picture; what stands in code is none."""
    for token in _inline(page):
        for child in token.children or ():
            target = child.attrGet("href" if child.type == "link_open" else "src")
            if child.type in {"link_open", "image"} and isinstance(target, str):
                yield unquote(target)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: of each heading in lower case, spaces as hyphens, a repeated one with a number."""
    found: dict[str, int] = {}
    for heading in _headings(page):
        slug = _NOT_IN_A_SLUG.sub("", heading.strip().lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if not number else f"{slug}-{number}" for slug, last in found.items() for number in range(last + 1)}


def dangling(page: Path) -> list[str]:
    """The links that lead nowhere."""
    return [target for target in links(page) if not _ELSEWHERE.match(target) and not _leads(page, target)]


def _leads(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    return file.exists() and (not anchor or (file.suffix == ".md" and anchor in anchors(file)))


def _parsed(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def _inline(page: Path) -> Iterator[Token]:
    return (token for token in _parsed(page) if token.type == "inline")


def _headings(page: Path) -> Iterator[str]:
    tokens = _parsed(page)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            yield "".join(child.content for child in inline.children or ())


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert dangling(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_page_that_code_names_exists(room: str) -> None:
    """In docstrings, comments and messages, with its anchor."""
    files = [file for file in (CHECKOUT / room).rglob("*") if file.suffix in {".py", ".toml", ".html"}]
    assert files
    named = {(str(file.relative_to(CHECKOUT)), name) for file in files for name in _NAMED.findall(_text(file))}
    assert sorted(one for one in named if not _leads(CHECKOUT / "page.md", one[1])) == []


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    """By a missing file, a missing heading, and a heading of another page."""
    (tmp_path / "other.md").write_text("# Other\n\n## `code` and: words\n\n## Again\n\n## Again\n")
    good = "[a](other.md) [b](other.md#code-and-words) [c](#here) [d](other.md#again-1) [e](https://x.invalid/y.md)"
    bad = "[f](gone.md) [g](other.md#gone) [h](#other) [i](other.md#again-2) ![j](gone.png)"
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n{good}\n\n| t |\n|---|\n| {bad} |\n\n`[k](gone.md)`\n\n    [l](gone.md)\n")
    assert dangling(page) == ["gone.md", "other.md#gone", "#other", "other.md#again-2", "gone.png"]
