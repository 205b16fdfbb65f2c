"""`kedge journal show`: the lines of a journal as a table or as JSON lines.

R, I and T are next to each other, so that the rows of one partition are the trace of its move (KIP-455). Findings (a
broken link, a torn tail, a gap) go to stderr after the rows. Text that others wrote has its control characters escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...audit import CHECKED
from ...runtime.journal import EVENTS, JournalError, Reading
from ..options import command, json_option, option
from ..printing import clean, compact, fail, print_unfolded, say, shortened, utc

Row: TypeAlias = dict[str, Any]

TABLE_ROWS: Final = 500
"""Rows per table: its widths are known only when all of its rows are, and a journal can be long."""

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
    return lambda row: "" if row.get(name) is None else clean(str(row[name]))


def _brokers(name: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        if name not in row:
            return "-" if name == "target" and "replicas" in row else ""
        return clean(compact(row[name]))

    return text


def _time(row: Row) -> str:
    return utc(row["ts"], "milliseconds")


def _where(row: Row) -> str:
    topic = clean(str(row.get("topic", "")))
    return f"{topic}-{row['partition']}" if "partition" in row else topic


def _why(row: Row) -> str:
    words = [str(row["cause"])] if "cause" in row else []
    if "detail" in row:
        words.append(json.dumps(row["detail"], separators=(",", ":"), ensure_ascii=False))
    return clean(" ".join(words))


COLUMNS: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("time", _time),
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
        read = _Counted(reading)
        rows = (r for r in read if wanted.items() <= r.items() and (not events or r["event"] in events))
        count = _print(rows, as_json=as_json)
    except JournalError as error:
        fail(str(error))
    for finding in reading.findings:
        say(str(finding))
    if not count:
        say("no rows match")
    if verify:
        _verdict(reading, read.count)


def _check_events(events: tuple[str, ...]) -> None:
    """A misspelt name would show nothing, and look like an answer."""
    known = EVENTS | CHECKED
    if unknown := [event for event in events if event not in known]:
        fail(f"--event: expected one of {', '.join(sorted(known))}, got {unknown[0]!r}")


class _Counted:
    """Rows, and how many there were."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.count = 0
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _verdict(reading: Reading, rows: int) -> None:
    """The verdict on stderr, and the exit code: nothing to verify is not a success."""
    if not rows:
        fail("no whole commit to verify")
    if reading.broken_link is not None:
        say("the chain of hashes is broken")
        sys.exit(1)
    say("the chain of hashes is intact")


def _print(rows: Iterator[Row], *, as_json: bool) -> int:
    """Print the rows; how many there were."""
    count = 0
    if as_json:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last one is the answer
            click.echo(compact(row))
    else:
        console = Console()
        while page := list(islice(rows, TABLE_ROWS)):
            count += len(page)
            _print_table(console, page)
    return count


def _print_table(console: Console, page: Sequence[Row]) -> None:
    """The rows of a page; columns that say nothing in it are left out."""
    cells = [[shortened(text(row), CELL_CHARACTERS_MAX) for _, text in COLUMNS] for row in page]
    used = [i for i in range(len(COLUMNS)) if any(row[i] for row in cells)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    needed = CAUSE_WIDTH_MIN
    for i in used:
        # Only the last column is folded: a folded list of brokers cannot be compared with the one above it.
        is_last = i == len(COLUMNS) - 1
        table.add_column(COLUMNS[i][0].replace(" ", "\n"), overflow="fold", no_wrap=not is_last)
        needed += 0 if is_last else 2 + max(len(text) for text in (COLUMNS[i][0], *(row[i] for row in cells)))
    for row, texts in zip(page, cells, strict=True):
        # Text, not str: brackets of lists would be read as rich's markup.
        table.add_row(*(Text(texts[i]) for i in used), style=_STYLES.get(row["event"]))
    if console.is_terminal:
        console.width = max(console.width, needed)
        console.print(table, crop=False)
        return
    print_unfolded(console, table)
