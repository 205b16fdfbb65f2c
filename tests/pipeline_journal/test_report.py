"""The page of an audit: one file, nothing from outside, whatever stands in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.pipeline.audit import audit
from kedge.pipeline.progress import progress
from kedge.pipeline.report import audit_page
from tests.browser import DESKTOP, PHONE, check_readable, measured
from tests.pipeline.pages import Words, plots_of
from tests.pipeline_journal.journals import PLANTED, Row, find, leader_outside_isr, throttle_left, write, written


def page_of(folder: Path, rows: list[Row]) -> str:
    files = write(folder, rows)
    return audit_page(audit(files), progress(files))


def test_the_page_of_an_honest_journal_says_so_and_loads_nothing(tmp_path: Path) -> None:
    page = page_of(tmp_path, written())
    read = Words(page)
    assert (read.open, read.loaded) == ([], [])
    assert "url(" not in page
    assert f"Every rule was kept in {len(written())} lines." in read.words


def test_plots_are_well_formed_and_show_terms_moves_and_predictions(tmp_path: Path) -> None:
    page = page_of(tmp_path, written())
    plots = plots_of(page)
    labels = [plot.get("aria-label") for plot in plots]
    assert labels[:2] == ["terms of controllers over time", "partitions being reassigned, by broker"]
    bands = [e for e in plots[0].iter() if e.tag.endswith("rect")]
    assert len(bands) == 2


def test_violations_stand_in_the_verdict_the_plot_and_the_table(tmp_path: Path) -> None:
    rows = written()
    leader_outside_isr(rows)
    throttle_left(rows)
    page = page_of(tmp_path, rows)
    assert 'class="verdict bad"' in page
    assert 'class="mark violations"' in page
    for kind in (PLANTED[leader_outside_isr], PLANTED[throttle_left]):
        assert f"<td>{kind}</td>" in page


def test_what_strangers_wrote_is_text_and_no_markup(tmp_path: Path) -> None:
    rows = written()
    named = {"orders": "<script>alert(1)</script>"}
    for row in rows:
        if "topic" in row:
            row["topic"] = named.get(row["topic"], row["topic"])
        for move in row.get("detail", {}).get("moves", ()):
            move["topic"] = named.get(move["topic"], move["topic"])
    i = find(rows, "IsrChanged", partition=0)
    rows[i]["leader"] = 77
    page = page_of(tmp_path, rows)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.slow
def test_the_same_journal_gives_the_same_page(tmp_path: Path) -> None:
    assert page_of(tmp_path, written()) == page_of(tmp_path, written())


@pytest.mark.server
@pytest.mark.full
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_browser_shows_every_plot_without_overflow_and_with_contrast(
    tmp_path: Path, width: int, *, dark: bool
) -> None:
    rows = written()
    leader_outside_isr(rows)
    throttle_left(rows)
    seen = measured(page_of(tmp_path, rows), tmp_path, width=width, dark=dark)
    check_readable(seen, plots=4)
