"""`kedge journal show`: the lines of a journal as a table, as tab-separated text or as JSON lines.

* R, I and T stand side by side, so that the rows of one partition are the trace of its move (KIP-455).
* Findings (a broken link, a torn tail, a gap) go to stderr after the rows; a broken link is exit code 1 with --verify.
* What strangers wrote (causes, details) is shown with its control characters escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.audit import CHECKED
from controller.cli.printing import clean, fail, print_unfolded, shortened
from controller.runtime.journal import EVENTS, JournalError, Reading

Row: TypeAlias = dict[str, Any]

TABLE_ROWS: Final = 500
"""Rows per table: the widths of a table are known only when all of its rows are, and a journal can be long."""

CELL_CHARACTERS_MAX: Final = 300
"""In a table: a Takeover names everything in flight. --plain and --json show the whole."""

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
        return clean(json.dumps(row[name], separators=(",", ":")))

    return text


def _time(row: Row) -> str:
    try:
        return datetime.fromtimestamp(row["ts"] / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (ValueError, OverflowError, OSError):
        return str(row["ts"])


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


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--topic", metavar="T", help="Only rows of this topic.")
@click.option("--partition", metavar="P", type=click.IntRange(min=0), help="Only rows of this partition of --topic.")
@click.option("--event", "events", metavar="E", multiple=True, help="Only rows of this event; may be repeated.")
@click.option("--term", "--epoch", metavar="EPOCH", type=click.IntRange(min=0), help="Only this controller epoch.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines, as they stand in the journal.")
@click.option("--plain", is_flag=True, help="Tab-separated columns with one line of headings.")
@click.option("--verify", is_flag=True, help="Exit with 1 if the chain of hashes does not hold.")
def show(
    paths: tuple[Path, ...],
    *,
    topic: str | None,
    partition: int | None,
    events: tuple[str, ...],
    term: int | None,
    as_json: bool,
    plain: bool,
    verify: bool,
) -> None:
    """Show the rows of journal files and of folders of them, in the order in which they were written.

    R: replicas, I: isr, T: target replicas of a partition that is being reassigned ("-": it is not); times are UTC.
    """
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic")
    if as_json and plain:
        raise click.UsageError("--json and --plain exclude each other")
    _check_events(events)
    wanted: Row = {"topic": topic, "partition": partition, "epoch": term}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    try:
        reading = Reading(paths)
        read = _Counted(reading)
        rows = (r for r in read if wanted.items() <= r.items() and (not events or r["event"] in events))
        count = _print(rows, as_json=as_json, plain=plain)
    except JournalError as error:
        fail(str(error))
    for finding in reading.findings:
        click.echo(f"kedge: {clean(str(finding))}", err=True)
    if not count:
        click.echo("kedge: no rows match", err=True)
    if verify:
        _verdict(reading, read.count)


def _check_events(events: tuple[str, ...]) -> None:
    """A name that no journal has would show nothing, and look like an answer."""
    known = EVENTS | CHECKED
    if unknown := [event for event in events if event not in known]:
        fail(f"there is no event {unknown[0]!r}; events are {', '.join(sorted(known))}")


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
    """What could not be checked does not look like success."""
    if not rows:
        fail("there is no whole commit to verify")
    if reading.broken_link is not None:
        click.echo("kedge: the chain does not hold", err=True)
        sys.exit(1)
    click.echo("kedge: the chain holds", err=True)


def _print(rows: Iterator[Row], *, as_json: bool, plain: bool) -> int:
    """Print the rows; how many there were."""
    count = 0
    if as_json:
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last one is the answer
            click.echo(json.dumps(row, separators=(",", ":")))
    elif plain:
        click.echo("\t".join(name for name, _ in COLUMNS))
        for count, row in enumerate(rows, 1):  # noqa: B007
            click.echo("\t".join(text(row) for _, text in COLUMNS))
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
