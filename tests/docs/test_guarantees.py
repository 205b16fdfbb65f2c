"""The page of guarantees names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)(?:::(\w+))?`")


def test_every_test_that_the_page_names_exists() -> None:
    """A renamed test is renamed on the page as well; a guarantee without a test is none."""
    named = NAMED.findall((CHECKOUT / "docs" / "guarantees.md").read_text())
    assert len(named) > 30
    for path, name in named:
        source = (CHECKOUT / path).read_text()
        defined = rf"^(?:def {name}\(|class {name}\b|{name}(?:: \w+)? = )"
        assert not name or re.search(defined, source, re.MULTILINE), (path, name)
