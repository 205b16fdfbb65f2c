"""Where the demo prints: rich on a terminal, plain lines otherwise, nothing with --json or --quiet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import click
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

BAR_STEPS = 10  # of a bare bar: one line each


class Bar(Protocol):
    """A progress bar."""

    def at(self, done: float, total: float, text: str) -> None: ...


class Screen(Protocol):
    """Where the demo tells its story."""

    def act(self, title: str) -> None: ...

    def say(self, text: str) -> None: ...

    def event(self, text: str) -> None: ...

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None: ...

    def bar(self, title: str) -> AbstractContextManager[Bar]: ...


class Silent:
    """Shows nothing."""

    def act(self, title: str) -> None: ...

    def say(self, text: str) -> None: ...

    def event(self, text: str) -> None: ...

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None: ...

    def at(self, done: float, total: float, text: str) -> None: ...

    @contextmanager
    def bar(self, title: str) -> Iterator[Bar]:  # noqa: ARG002
        yield self


class Plain:
    """Lines of text, no colours, nothing that moves."""

    def __init__(self) -> None:
        self._shown, self._said = -1, ""

    def act(self, title: str) -> None:
        click.echo(f"\n== {title}")

    def say(self, text: str) -> None:
        click.echo(text)

    def event(self, text: str) -> None:
        click.echo(f"  ! {text}")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        cells = [list(header), *map(list, rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
        for row in cells:
            click.echo("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def at(self, done: float, total: float, text: str) -> None:
        step = int(BAR_STEPS * done / total) if total else BAR_STEPS
        if step > self._shown and (text != self._said or step == BAR_STEPS):
            self._shown, self._said = step, text
            click.echo(f"  {100 * step // BAR_STEPS:3d} %  {text}")

    @contextmanager
    def bar(self, title: str) -> Iterator[Bar]:
        click.echo(title)
        self._shown, self._said = -1, ""
        yield self


class Rich:
    """Colours, tables and a live bar, for a terminal."""

    def __init__(self) -> None:
        self._console = Console()
        self._live: Progress | None = None

    def act(self, title: str) -> None:
        self._console.print()
        self._console.rule(Text(title, style="bold"), align="left")

    def say(self, text: str) -> None:
        self._console.print(Text(text))

    def event(self, text: str) -> None:
        self._console.print(Text(f"  ! {text}", style="yellow"))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = Table(*header, box=None, header_style="bold", pad_edge=True)
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table)

    @contextmanager
    def bar(self, title: str) -> Iterator[Bar]:
        progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), console=self._console
        )
        live = Live(progress, console=self._console, refresh_per_second=10)
        with live:
            yield _LiveBar(progress, live, title)


class _LiveBar:
    """A bar with a line below it."""

    def __init__(self, progress: Progress, live: Live, title: str) -> None:
        self._progress, self._live = progress, live
        self._task = progress.add_task(title, total=1.0)

    def at(self, done: float, total: float, text: str) -> None:
        self._progress.update(self._task, completed=done, total=total or 1.0)
        grid = Table.grid()
        grid.add_row(self._progress)
        grid.add_row(Text(text, style="dim", overflow="ellipsis", no_wrap=True))
        self._live.update(grid)
