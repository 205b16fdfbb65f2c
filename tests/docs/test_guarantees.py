"""The pages of guarantees name tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[a-z0-9_/]+\.py)(?:::(\w+))?`")


PAGES = ("guarantees.md", "guarantees-tools.md", "how-it-is-tested.md")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_the_page_names_exists(page: str) -> None:
    """A renamed test is renamed on the page as well; a guarantee without a test is none."""
    named = NAMED.findall((CHECKOUT / "docs" / page).read_text(encoding="utf-8"))
    assert len(named) > 20
    for path, name in named:
        source = (CHECKOUT / path).read_text(encoding="utf-8")
        defined = rf"^(?:def {name}\(|class {name}\b|{name}(?:: \w+)? = )"
        assert not name or re.search(defined, source, re.MULTILINE), (path, name)


@pytest.mark.parametrize("page", PAGES[:2])
def test_every_guarantee_names_a_test(page: str) -> None:
    lines = (CHECKOUT / "docs" / page).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and "| shown by |" not in line]
    assert len(rows) > 100
    assert [row for row in rows if not NAMED.search(row)] == []
