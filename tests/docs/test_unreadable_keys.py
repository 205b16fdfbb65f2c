"""The page of keys says what the kinds of keys say."""

from __future__ import annotations

from pathlib import Path

from kedge.controller.keys.table import KINDS
from kedge.controller.keys.unreadable import ELECTION

PAGE = Path(__file__).resolve().parents[2] / "docs" / "keys.md"


def test_what_each_kind_of_key_says_stands_on_the_page() -> None:
    """In the same words, and nothing else."""
    (table,) = PAGE.read_text().split("| key | broken |\n|---|---|\n")[1:]
    rows = table.partition("\n\n")[0].splitlines()
    said = {line.removeprefix("| ").partition(":")[0]: line for line in rows}
    kinds = {one.kind: one for kind in KINDS for one in kind.unreadable} | {ELECTION.kind: ELECTION}
    assert said.keys() == kinds.keys()
    for name, kind in kinds.items():
        assert said[name].endswith(f"| {kind.broken} |")


def test_each_kind_of_key_that_is_read_says_what_it_means_where_that_cannot_be() -> None:
    """A kind without a word would be decided nowhere."""
    assert [kind.__name__ for kind in KINDS if kind.roots and not kind.unreadable] == []
