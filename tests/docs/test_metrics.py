"""The page of metrics says what the table of the code says."""

from __future__ import annotations

from pathlib import Path

from kedge.controller.metrics import ALL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def test_each_metric_stands_on_the_page_in_the_words_of_the_code() -> None:
    """In the same order, and no other row."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(("| `kafka.", "| `kedge."))]
    assert rows == [
        f"| `{m.mbean}` | {m.tag or ''} | {m.kind} | {m.unit} | {m.meaning} | `{m.prometheus_name}` |" for m in ALL
    ]
