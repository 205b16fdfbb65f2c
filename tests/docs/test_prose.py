"""Sentences of the pages are short and plain; what is not yet stands in a ledger that only becomes shorter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.docs import prose

ROOMS = ("benchmarks", "controller", "examples", "kedge", "pipeline", "scripts", "servers", "stores", "tests")
LEDGER = tomllib.loads(prose.LEDGER.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", prose.PAGES, ids=lambda page: str(page.relative_to(prose.CHECKOUT)))
def test_a_page_has_what_the_ledger_allows(page: Path) -> None:
    """`python tests/docs/prose.py PAGE` prints the sentences. Where a page has fewer now, lower its numbers in the
    ledger: `python tests/docs/prose.py --ledger`."""
    assert prose.counts(page) == LEDGER.get(str(page.relative_to(prose.CHECKOUT)), {})


def test_the_ledger_names_pages_that_are_there() -> None:
    assert LEDGER.keys() <= {str(page.relative_to(prose.CHECKOUT)) for page in prose.PAGES}


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


def test_long_sentences_and_odd_words_are_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"{'word ' * 30}end. {'word ' * 29}end.\n\n| a cell for whoever reads |\n|---|\n\n    nobody reads code\n"
    )
    assert prose.counts(page) == {"long": 1, "stumbled": 1}


def test_the_ledger_is_lowered_and_never_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "CHECKOUT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("This is for whoever reads.\n")
    for allowed, now in ((3, {"page.md": {"stumbled": 1}}), (1, {"page.md": {"stumbled": 1}}), (0, {})):
        assert tomllib.loads(prose.ledger([page], {"page.md": {"stumbled": allowed}})) == now
