"""Sentences of the pages are short and plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import prose

ROOMS = ("benchmarks", "controller", "examples", "kedge", "pipeline", "scripts", "servers", "stores", "tests")


@pytest.mark.slow
@pytest.mark.parametrize("page", prose.PAGES, ids=lambda page: str(page.relative_to(prose.CHECKOUT)))
def test_no_sentence_of_a_page_is_long_or_odd(page: Path) -> None:
    """`python tests/docs/prose.py PAGE` prints them."""
    assert [*prose.too_long(page), *prose.stumbled(page)] == []


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_no_remark_has_an_odd_word(room: str) -> None:
    """Names of tests, docstrings and comments name the thing: the request, the broker, the client."""
    found = [
        f"{file.relative_to(prose.CHECKOUT)}:{line}: {match[0]}"
        for file in sorted((prose.CHECKOUT / room).rglob("*.py"))
        for line, text in prose.remarks(file)
        for match in prose.STUMBLED.finditer(text)
    ]
    assert found == []


def test_remarks_are_names_of_tests_docstrings_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text('def test_nobody() -> None:\n    """Of `told`, somebody."""\n    told = 1  # whoever\n')
    found = [text for _, text in prose.remarks(file)]
    assert found == ["test nobody", "Of CODE, somebody.", "# whoever"]


def test_long_sentences_and_odd_words_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"{'word ' * 30}end. {'word ' * 29}end.\n\n| a cell for whoever reads |\n|---|\n\n    nobody reads code\n"
    )
    assert ([line for line, _ in prose.too_long(page)], [line for line, _ in prose.stumbled(page)]) == ([1], [3])
