"""A progress bar on stderr, where that is a terminal and nobody asked for none; else nothing is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Told: TypeAlias = Callable[[int, int], None]
ToldTitle: TypeAlias = Callable[[str, int, int], None]


@contextmanager
def bar(title: str, *, shown: bool) -> Iterator[Told]:
    """Call what is given with how much is done, of how much. It vanishes at the end."""
    with titled_bar(title, shown=shown) as told:
        yield lambda done, total: told(title, done, total)


@contextmanager
def titled_bar(title: str, *, shown: bool) -> Iterator[ToldTitle]:
    """As `bar`, with a title that changes."""
    if not shown or not sys.stderr.isatty():
        yield lambda title, done, total: None  # noqa: ARG005 - nobody looks
        return
    from rich.console import Console  # noqa: PLC0415 - loaded where a bar is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda title, done, total: progress.update(task, description=title, completed=done, total=total)
