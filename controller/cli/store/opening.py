"""Opening the store of a command: what goes wrong is one line on stderr and exit code 2, without options of the url,
where passwords are."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from controller.cli.printing import fail, of_system, one_line, without_place
from controller.codec import keys
from stores import MetadataStore, StoreError, open_store, public_url, transfer
from stores.reading import read_stream, read_whole

CALL_S = 15.0  # of a call that reads or writes little
READ_ALL_S = 120.0  # of one that reads everything
SECRETS: Final = frozenset({keys.GATEWAYS_SECRET})
"""Keys that are no part of a tree that is taken out of a store, which people send to each other: each store makes its
own."""


@contextmanager
def opened(url: str, *, read_only: bool = True) -> Iterator[MetadataStore]:
    """A client of the store, closed at the end. Exits with 2 where it cannot be opened, or the file of a memory store
    not be written."""
    try:
        store = open_store(url, read_only=read_only)
    except (StoreError, ValueError, OSError) as error:  # the last of the file of a memory store
        fail(f"{public_url(url).removesuffix(':')}: {without_place(error)}")
    try:
        yield store
    finally:
        try:
            store.close()
        except OSError as error:
            fail(f"{public_url(url)}: cannot be written: {without_place(error)}")


def dumped(url: str, store: MetadataStore) -> transfer.Dump:
    """The whole tree of the store, without SECRETS. Exits with 2 where it cannot be read."""
    try:
        return transfer.dump(store, timeout_s=READ_ALL_S, without=SECRETS)
    except StoreError as error:
        fail(f"{public_url(url)}: cannot be read: {without_place(error)}")


_URL: Final = re.compile(r"memory:|[a-z]+://")


def is_url(place: str) -> bool:
    """Whether it names a store; else it names a file."""
    return _URL.match(place) is not None


def read_file(file: str) -> transfer.Tree:
    """The tree in it; "-" is stdin. Exits with 2 where it cannot be read."""
    try:
        if file == "-":
            return transfer.parse(read_stream(sys.stdin.buffer, "stdin"), "stdin")
        return transfer.parse(read_whole(file), file)
    except StoreError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))


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
