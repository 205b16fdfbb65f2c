"""The page of configs has what the tables of the code have."""

from __future__ import annotations

from tests.docs.configs import PAGE, rewritten


def test_the_page_lists_every_config_with_its_effect() -> None:
    """`python -m tests.docs.configs` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == rewritten(text)
