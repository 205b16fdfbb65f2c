"""What every command says besides its output: one line on stderr, with the url of a store once. And how tables and
text of strangers are printed."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import click

if TYPE_CHECKING:  # at run time only who makes a table loads rich
    from rich.console import Console
    from rich.table import Table

_WIDTH_MAX: Final = 100_000
_LINE_CHARACTERS_MAX: Final = 500
_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
_PLACE: Final = re.compile(r"(?:zookeeper|etcd)://[^\s?]*[^\s?:]: |(?:memory|etcd): ")
_AT_PLACE: Final = re.compile(r" at etcd://[^\s?]*[^\s?:](?=: |$)")


def one_line(error: BaseException) -> str:
    """What an error says, on one line; its kind, if it says nothing."""
    return " ".join(str(error).split())[:_LINE_CHARACTERS_MAX] or type(error).__name__


def of_system(error: OSError) -> str:
    """What the system says, in words without its number, and of which file, where it names one."""
    said = error.strerror or one_line(error)
    return f"{error.filename}: {said}" if error.filename else said


def is_of_stdout(error: OSError) -> bool:
    """Whether stdout is full, or nobody reads it any more: of what is written, stdout alone is named by no error."""
    return error.errno in _UNWRITABLE and error.filename is None


def without_place(error: BaseException) -> str:
    """`one_line` without the store's own name, for a line that names the url already: stores say it with the ports that
    a url may leave out, and the system with the file of a memory store."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = _AT_PLACE.sub("", one_line(error))
    found = _PLACE.match(said)
    return said if found is None else said[found.end() :] or said


def clean(text: str) -> str:
    """Control characters and broken surrogates as escapes: a name must not move the cursor of who reads it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def say(text: str) -> None:
    """One line on stderr."""
    click.echo(f"kedge: {clean(text)}", err=True)


def fail(text: str) -> NoReturn:
    """One line on stderr, and exit code 2: what was given cannot be used."""
    say(text)
    sys.exit(2)


def shortened(text: str, characters_max: int) -> str:
    """A text that fits a cell of a table; what is cut off is said by dots."""
    return text if len(text) <= characters_max else f"{text[:characters_max]}..."


def print_unfolded(console: Console, table: Table) -> None:
    """A table into a file or a pipe: nothing is folded, and no line ends in blanks."""
    console.width = _WIDTH_MAX
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table on stdout: folded to the width of a terminal, unfolded anywhere else. Cells may hold anything."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))  # Text, not str: brackets would be read as rich's markup
    console = Console()
    if sys.stdout.isatty():
        console.print(table)
    else:
        print_unfolded(console, table)
