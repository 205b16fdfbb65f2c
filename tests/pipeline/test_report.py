"""The page of a plan: what it says, that it is text whatever topics are called, and that it stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.pipeline.generating import generate
from kedge.pipeline.report.plan import plan_page
from kedge.pipeline.stages.outlook import outlook
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Add, Drain, Leaders, Rebalance, ReducePartitions, Request, SetFactor
from kedge.pipeline.stages.waves import WaveSettings, waves
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import REJECTED_ROWS
from kedge.pipeline.tables.rejects import Rejects
from tests.browser import DESKTOP, PHONE, check_readable, measured, printed
from tests.pipeline.pages import Words, plots_of
from tests.pipeline.snapshots import NO_PARTITION, broker, loads, partition, tables

Tables = dict[str, Arrow]
GIVEN = generate(brokers=12, topics=8, partitions=10, seed=5)


def made(given: Tables, request: Request, settings: WaveSettings | None = None) -> Tables:
    """A plan, its waves and its outlook."""
    found = plan(given, request, name="p")
    cut = waves({**given, **found}, "p", settings or WaveSettings(per_broker=2, throttle_bps=50e6))
    whole = {**given, **found, **cut}
    return {**whole, **outlook(whole)}


def page_of(given: Tables, request: Request, settings: WaveSettings | None = None) -> str:
    return plan_page(made(given, request, settings), cluster="east", snapshot="1")


def labels(page: str) -> list[str | None]:
    return [plot.get("aria-label") for plot in plots_of(page)]


def test_the_page_of_a_drain_says_what_it_does_and_has_every_plot() -> None:
    page = page_of(GIVEN, Drain((1001, 1002)))
    read = Words(page)
    assert (read.open, read.loaded) == ([], [])
    assert "url(" not in page
    (verdict,) = [words for words in read.words if words.startswith("This plan")]
    assert verdict.startswith("This plan empties brokers 1001, 1002: ")
    assert "are copied, the least possible. " in verdict
    assert labels(page) == [
        "bytes per broker",
        "preferred leaders per broker",
        "bytes copied against the lower bound",
        "waves over time",
        "bytes received and sent per broker",
        "rates per broker",
    ]


@pytest.mark.parametrize(
    "request_,words",
    [
        (Add(((1012, None),)), "levels bytes onto broker 1012"),
        (Rebalance(), "levels bytes over all brokers"),
        (SetFactor(4), "gives partitions 4 replicas"),
        (Leaders(), "and no data is copied"),
        (ReducePartitions(1 << 40, 1e12), "partitions could be removed"),
        (Drain((1003,)), "empties broker 1003"),
    ],
)
def test_every_kind_of_plan_has_a_sentence(request_: Request, words: str) -> None:
    assert words in "".join(Words(page_of(GIVEN, request_)).words)


def test_added_broker_has_the_rack_of_the_request() -> None:
    given = {
        **tables([broker(1, "a"), broker(2, "a")], [partition("t", p, [1 + p % 2]) for p in range(6)]),
        "replica_load": loads({("t", p): 10 for p in range(6)}),
    }
    page = page_of(given, Add(((7, "b"),)))
    assert "<title>broker 7, rack b: 0 bytes before, 20 bytes after</title>" in page


def test_the_same_tables_give_the_same_page() -> None:
    assert page_of(GIVEN, Rebalance()) == page_of(GIVEN, Rebalance())


def test_hostile_names_are_text_and_no_markup() -> None:
    name, rack = "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'
    given = {
        **tables([broker(1, rack), broker(2, "b"), broker(3, rack)], [partition(name, 0, [1, 2])]),
        "replica_load": loads({(name, 0): 10}),
        "rejected_rows": from_rows(
            REJECTED_ROWS, [("<b>x</b>", 3, "</td><svg onload=alert(1)>", "<i>why</i>", *NO_PARTITION)]
        ),
    }
    page = page_of(given, Drain((1,)))
    read = Words(page)
    assert (read.open, read.loaded) == ([], [])
    assert f"{name}-0" in read.words
    assert "<i>why</i>" in read.words


def test_refused_moves_violations_and_rejected_rows_are_counted_by_kind_with_the_first_of_each() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "b", disk=5), broker(4, "a", "dead")]
    parts = [partition("t", p, [1, 2]) for p in range(3)] + [partition("u", 0, [4, 2], isr=[2], leader=2)]
    given = {
        **tables(brokers, parts),
        "replica_load": loads({("t", p): 10 for p in range(3)}),
        "rejected_rows": from_rows(
            REJECTED_ROWS,
            [("f.json", 7, "{bad", "not JSON", *NO_PARTITION), ("f.json", 9, "{bad", "not JSON", *NO_PARTITION)],
        ),
    }
    page = page_of(given, Drain((1,)))
    assert 'class="verdict warn"' in page
    words = Words(page).words
    assert "Refused, by reason: 3 in all" in words
    assert "t-0, broker 1" in words
    assert "Rejected rows, by reason: 2 in all" in words
    assert "line 7: {bad" in words
    assert "<td>DEAD</td><td>now</td>" in page
    assert "Left out: 2 rows of the snapshot, which were rejected" in "".join(words)


def test_rejected_rows_that_are_not_shown_are_counted() -> None:
    rejects = Rejects()
    rejects.add_samples("replica_sample", 1, "too old", topic="t")
    rejects.add_samples("replica_sample", 41, "too old")
    words = Words(page_of({**GIVEN, "rejected_rows": rejects.table()}, Rebalance())).words
    assert "Rejected rows, by reason: 42 in all" in words
    assert "Left out: 42 rows of the snapshot, which were rejected" in "".join(words)


def test_waves_without_rates_are_drawn_by_bytes_and_say_so() -> None:
    page = page_of(GIVEN, Drain((1001,)), WaveSettings(per_broker=2, network_share=1.0))
    assert "waves over time" in labels(page)
    free = {**GIVEN, "broker": tables([broker(1001 + i, f"r{i % 3}") for i in range(12)], [])["broker"]}
    words = "".join(Words(page_of(free, Drain((1001,)), WaveSettings(per_broker=2))).words)
    assert "not throttled, so their time is not known" in words
    assert "No rate is set, so the bars show bytes" in words


@pytest.mark.slow
def test_the_page_of_a_large_cluster_stays_small() -> None:
    """A thousand brokers and 27,000 partitions: groups of brokers share a place, waves a row, moves a total."""
    given = generate(brokers=1000, topics=900, partitions=30, seed=2)
    page = page_of(given, Drain(tuple(range(1001, 1051))), WaveSettings(per_broker=1, throttle_bps=50e6))
    assert len(page) < 1_000_000
    assert "; the 50 largest" in page


@pytest.mark.server
@pytest.mark.full
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_browser_shows_every_plot_without_overflow_and_with_contrast(
    tmp_path: Path, width: int, *, dark: bool
) -> None:
    page = page_of(generate(brokers=30, topics=60, partitions=20, racks=3, seed=7), Drain((1001, 1002)))
    seen = measured(page, tmp_path, width=width, dark=dark)
    assert seen["scheme"] == ("dark" if dark else "light")
    check_readable(seen, plots=6)


@pytest.mark.full
@pytest.mark.server
def test_the_browser_would_see_overflow_and_faint_words(tmp_path: Path) -> None:
    """What measures can fail: a page that is too wide, with words that are unreadable, one over the other."""
    page = (
        '<body><p style="width:2000px;color:#ccc">faint</p><svg aria-label="x" viewBox="0 0 960 40" width="960">'
        '<text x="5" y="20">one</text><text x="8" y="20">two</text><text x="950" y="20">outside</text></svg>'
    )
    seen = measured(page, tmp_path, width=DESKTOP)
    assert seen["wide"] > seen["room"]
    assert [words for _, words, _ in seen["low"]] == ["faint"]
    assert (seen["out"], seen["over"]) == (["outside"], [["one", "two"]])


@pytest.mark.full
@pytest.mark.server
def test_the_page_can_be_printed(tmp_path: Path) -> None:
    assert printed(page_of(GIVEN, Drain((1001,))), tmp_path).startswith(b"%PDF")
