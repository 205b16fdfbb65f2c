"""`kedge journal show`: the lines of a journal as a table or as JSON lines.

R, I and T are next to each other, so that the rows of one partition are the trace of its move (KIP-455). Findings (a
broken link, a torn tail, a gap) go to stderr after the rows. Text that others wrote has its control characters escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from ...audit import CHECKED
from ...runtime.journal import EVENTS, JournalError, Reading
from ..options import command, json_option, option
from ..printing import compact, fail, print_pages, say, shortened, utc

Row: TypeAlias = dict[str, Any]

CELL_CHARACTERS_MAX: Final = 300
"""In a table: a Takeover names everything in flight. --json prints all of it."""

CAUSE_WIDTH_MIN: Final = 40

_STYLES: Final = {
    "Takeover": "bold cyan",
    "Resigned": "bold cyan",
    "TargetCleared": "green",
    "ForeignChange": "yellow",
    "Conflict": "yellow",
    "BadKey": "red",
    "Gap": "bold red",
}


def _number(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row.get(name) is None else str(row[name])


def _brokers(name: str) -> Callable[[Row], str]:
    no_target = "-" if name == "target" else ""
    return lambda row: compact(row[name]) if name in row else no_target if "replicas" in row else ""


def _where(row: Row) -> str:
    topic = str(row.get("topic", ""))
    return f"{topic}-{row['partition']}" if "partition" in row else topic


def _why(row: Row) -> str:
    words = [str(row["cause"])] if "cause" in row else []
    if "detail" in row:
        words.append(json.dumps(row["detail"], separators=(",", ":"), ensure_ascii=False))
    return " ".join(words)


COLUMNS: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("time", lambda row: utc(row["ts"], "milliseconds")),
    ("term", _number("epoch")),
    ("seq", _number("seq")),
    ("row", _number("row")),
    ("event", _number("event")),
    ("partition", _where),
    ("R", _brokers("replicas")),
    ("I", _brokers("isr")),
    ("T", _brokers("target")),
    ("leader", _number("leader")),
    ("leader epoch", _number("leader_epoch")),
    ("partition epoch", _number("partition_epoch")),
    ("broker", _number("broker")),
    ("cause", _why),
)


@command("show", example="kedge journal show journals/ --topic orders --partition 0")
@click.argument("paths", metavar="JOURNAL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--topic", metavar="NAME", none="all", help="Topic to show.")
@option("--partition", metavar="ID", type=click.IntRange(min=0), none="all", help="Partition id in --topic.")
@option("--event", "events", metavar="NAME", multiple=True, none="all", help="Event to show; may be repeated.")
@option("--term", "--epoch", metavar="N", type=click.IntRange(min=0), none="all", help="Controller epoch, a number.")
@option("--verify", is_flag=True, help="Verify the chain of hashes; exit code 1 if it is broken.")
@json_option("Print the JSON lines of the journal.")
def show(
    paths: tuple[Path, ...],
    *,
    topic: str | None,
    partition: int | None,
    events: tuple[str, ...],
    term: int | None,
    as_json: bool,
    verify: bool,
) -> None:
    """Show the lines of a journal, filtered by topic, partition, event or term.

    JOURNAL is a file, or a folder of files. Prints one row per decision, in the order in which they were made. Columns:
    R replicas, I in-sync replicas, T target replicas ("-": no reassignment runs). Times are UTC.

    Exit code: 0 shown; 1 --verify found a broken chain; 2 the input cannot be used.
    """
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic")
    _check_events(events)
    wanted: Row = {"topic": topic, "partition": partition, "epoch": term}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    try:
        reading = Reading(paths)
        count = 0

        def wanted_rows() -> Iterator[Row]:
            nonlocal count
            for row in reading:
                count += 1
                if wanted.items() <= row.items() and (not events or row["event"] in events):
                    yield row

        shown = _print(wanted_rows(), as_json=as_json)
    except JournalError as error:
        fail(str(error))
    for finding in reading.findings:
        say(str(finding))
    if not shown:
        say("no rows match")
    if verify:
        _verdict(reading, count)


def _check_events(events: tuple[str, ...]) -> None:
    known = EVENTS | CHECKED
    if unknown := [event for event in events if event not in known]:
        fail(f"--event: expected one of {', '.join(sorted(known))}, got {unknown[0]!r}")


def _verdict(reading: Reading, rows: int) -> None:
    """The verdict on stderr, and the exit code: nothing to verify is not a success."""
    if not rows:
        fail("no whole commit to verify")
    if reading.broken_link is not None:
        say("the chain of hashes is broken")
        sys.exit(1)
    say("the chain of hashes is intact")


def _print(rows: Iterator[Row], *, as_json: bool) -> int:
    if not as_json:
        *others, last = (name for name, _ in COLUMNS)
        return print_pages({**dict.fromkeys(others), last: CAUSE_WIDTH_MIN}, map(_cells, rows))
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the last one is the answer
        click.echo(compact(row))
    return count


def _cells(row: Row) -> tuple[list[str], str | None]:
    return [shortened(text(row), CELL_CHARACTERS_MAX) for _, text in COLUMNS], _STYLES.get(row["event"])
