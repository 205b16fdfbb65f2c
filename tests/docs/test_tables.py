"""Pages with tables say what the tables of the code say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kedge.controller.keys.table import KINDS
from kedge.controller.keys.unreadable import ELECTION
from kedge.controller.metrics import ALL
from tests.docs import tables as columns
from tests.docs.configs import PAGE, rewritten

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_lists_every_config_with_its_effect() -> None:
    """`python -m tests.docs.configs` writes it."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == rewritten(text)


def test_the_page_lists_the_columns_of_every_table() -> None:
    """`python -m tests.docs.tables` writes it."""
    text = columns.PAGE.read_text(encoding="utf-8")
    assert text == columns.page(text)


def test_each_metric_stands_on_the_page_in_the_words_of_the_code() -> None:
    """In the same order, and no other row."""
    rows = [
        line for line in (DOCS / "metrics.md").read_text().splitlines() if line.startswith(("| `kafka.", "| `kedge."))
    ]
    assert rows == [
        f"| `{m.mbean}` | {m.tag or ''} | {m.kind} | {m.unit} | {m.meaning} | `{m.prometheus_name}` |" for m in ALL
    ]


def test_what_each_kind_of_key_says_stands_on_the_page() -> None:
    """In the same words, and nothing else."""
    (table,) = (DOCS / "keys.md").read_text().split("| key | broken |\n|---|---|\n")[1:]
    rows = table.partition("\n\n")[0].splitlines()
    said = {line.removeprefix("| ").partition(":")[0]: line for line in rows}
    kinds = {one.kind: one for kind in KINDS for one in kind.unreadable} | {ELECTION.kind: ELECTION}
    assert said.keys() == kinds.keys()
    for name, kind in kinds.items():
        assert said[name].endswith(f"| {kind.broken} |")


def test_each_kind_of_key_that_is_read_says_what_it_means_where_that_cannot_be() -> None:
    """A kind without a word would be decided nowhere."""
    assert [kind.__name__ for kind in KINDS if kind.roots and not kind.unreadable] == []
