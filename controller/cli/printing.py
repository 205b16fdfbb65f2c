"""How every command prints: errors and notes, confirmations, tables, and text that others wrote.

An error is one line on stderr that begins with "kedge:". With --quiet a command prints its result, warnings and
errors; progress and confirmations are left out.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from ..model.printable import clean as clean  # noqa: PLC0414 - the commands have it from here

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


QUIET: Final = "kedge.controller.cli.quiet"
"""Where click's context keeps whether --quiet is given."""
PAGE_ROWS: Final = 500
_WIDTH_MAX: Final = 100_000
_LINE_CHARACTERS_MAX: Final = 500
_VALUE_CHARACTERS_MAX: Final = 400
_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
_PLACE: Final = re.compile(r"(?:zookeeper|etcd)://[^\s?]*[^\s?:]: |(?:memory|etcd): ")
_AT_PLACE: Final = re.compile(r" at etcd://[^\s?]*[^\s?:](?=: |$)")


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:_LINE_CHARACTERS_MAX] or type(error).__name__


def of_system(error: OSError) -> str:
    message = error.strerror or one_line(error)
    return f"{error.filename}: {message}" if error.filename else message


def is_of_stdout(error: OSError) -> bool:
    """Whether stdout is full or closed: only an error of stdout names no file."""
    return error.errno in _UNWRITABLE and error.filename is None


def without_place(error: BaseException) -> str:
    """`one_line` without the name of the store, for a line that names its url already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    message = _AT_PLACE.sub("", one_line(error))
    found = _PLACE.match(message)
    return message if found is None else message[found.end() :] or message


def say(text: str) -> None:
    click.echo(f"kedge: {clean(text)}", err=True)


def is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def confirm(text: str) -> None:
    """A line on stdout that confirms a change, or tells how far it is; none with --quiet."""
    if not is_quiet():
        click.echo(text)


def confirming(*, as_json: bool) -> Callable[[str], object]:
    """`confirm`, or with --json nothing: the object that is printed in the end says it all."""
    return (lambda _: None) if as_json else confirm


def note(text: str) -> None:
    """A line on stderr on what the command does, no error and no result; none with --quiet."""
    if not is_quiet():
        say(text)


def fail(text: str) -> NoReturn:
    """One line on stderr, and exit code 2: the input cannot be used."""
    say(text)
    sys.exit(2)


def utc(ms: int, timespec: str = "seconds") -> str:
    """A time as text; the number itself where there is no such time. `timespec`: as of `datetime.isoformat`."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"
    except (ValueError, OverflowError, OSError):
        return str(ms)


def ids(names: Iterable[object]) -> str:
    return ",".join(map(str, names))


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def shortened(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}..."


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table on stdout: folded to the width of a terminal, unfolded anywhere else. Cells may hold anything."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    _print_table(Console(), table)


def print_pages(columns: Mapping[str, int | None], rows: Iterable[tuple[Sequence[str], str | None]]) -> int:
    """Long tables on stdout, `PAGE_ROWS` each, because the widths of a table are known only when all of its rows are.
    Returns how many rows there were.

    `columns`: by heading the least width of a column that may be folded; None where that would make it hard to read,
    such as a list below another one. A column that is empty on a page is left out there. `rows`: cells, which may hold
    anything, and the style of the row.
    """
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    console, count, left = Console(), 0, iter(rows)
    while page := [(list(map(_cell, cells)), style) for cells, style in islice(left, PAGE_ROWS)]:
        count += len(page)
        table = Table(box=None, pad_edge=False, header_style="bold")
        needed, used = 0, [i for i in range(len(columns)) if any(cells[i] for cells, _ in page)]
        for i, (name, folded) in [(i, list(columns.items())[i]) for i in used]:
            table.add_column(name.replace(" ", "\n"), overflow="fold", no_wrap=folded is None)
            needed += 2 + (max(len(name), *(len(cells[i]) for cells, _ in page)) if folded is None else folded)
        for cells, style in page:
            table.add_row(*(cells[i] for i in used), style=style)
        if console.is_terminal:
            console.width = max(console.width, needed)
        _print_table(console, table)
    return count


def _cell(text: str) -> Text:
    """Text, not str: rich would read brackets as its markup."""
    from rich.text import Text  # noqa: PLC0415 - as above

    return Text(clean(text))


def _print_table(console: Console, table: Table) -> None:
    """To a file or a pipe unfolded, without blanks at the ends of lines."""
    if console.is_terminal:
        console.print(table, crop=False)
        return
    console.width = _WIDTH_MAX
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        click.echo(f"{name.ljust(width)}  {shortened(clean(value), _VALUE_CHARACTERS_MAX)}")


def print_by_cluster(columns: Sequence[str], rows: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
    """A table, with a column for the cluster where there are several; nothing where there is no row."""
    several = len(rows) > 1
    found = [(cluster, *cells) if several else cells for cluster, some in rows.items() for cells in some]
    if found:
        print_rows(("cluster", *columns) if several else columns, found)


def file_problem(path: Path) -> str | None:
    folder = path.absolute().parent
    if path.is_dir():
        return f"{path}: expected a file, got a folder"
    if not folder.is_dir():
        return f"{path}: cannot be written, because {folder} {'is a file' if folder.exists() else 'does not exist'}"
    try:
        if path.is_file():
            os.close(os.open(path, os.O_WRONLY))
        elif not path.exists():  # else it is a device or a pipe, which only the writer may open
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            path.unlink()
    except OSError as error:
        return f"{path}: cannot be written: {error.strerror}"
    return None


def folder_problem(path: Path) -> str | None:
    """Why files cannot be written in the folder `path`, or it and those above it not be made; None where they can."""
    there = path.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return f"{path}: expected a folder, but {there} is a file"
    try:
        Path(tempfile.mkdtemp(dir=there)).rmdir()
    except OSError as error:
        return f"{path}: cannot be written: {error.strerror}"
    return None


def need_file(path: Path | None) -> None:
    if path is not None and (problem := file_problem(path)) is not None:
        fail(problem)


def need_folder(path: Path | None) -> None:
    if path is not None and (problem := folder_problem(path)) is not None:
        fail(problem)
