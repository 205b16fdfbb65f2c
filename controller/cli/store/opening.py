"""Opening the store of a command, reading files of keys, and progress bars.

An error is one line on stderr and exit code 2. It shows the url without its options, which may hold passwords.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

import click

from ....stores import MetadataStore, StoreError, open_store, public_url, transfer
from ....stores.reading import read_stream, read_whole
from ...model import numerals
from ..printing import fail, is_quiet, of_system, one_line, without_place

CALL_S = 15.0  # of a call that reads or writes little
READ_ALL_S = 120.0  # of one that reads everything


@contextmanager
def opened(url: str, *, read_only: bool = True) -> Iterator[MetadataStore]:
    """A client of the store, closed at the end. Exits with 2 where the store cannot be opened, or the file of a memory
    store cannot be written."""
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
    try:
        return transfer.dump(store, timeout_s=READ_ALL_S)
    except StoreError as error:
        fail(f"{public_url(url)}: cannot be read: {without_place(error)}")


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's collector: very many values are made, and nearly all of them stay until the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def one_store(url: str | None, by_option: str | None) -> str:
    """The URL of a command that takes it as an argument or, as other commands do, by --store. Raises UsageError."""
    if url is None and by_option is None:
        raise click.UsageError("expected the URL of a store")
    if url is not None and by_option is not None:
        raise click.UsageError("give the store once, as URL or by --store")
    return str(by_option if url is None else url)


_URL: Final = re.compile(r"memory:|[a-z]+://")


def is_url(place: str) -> bool:
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
def bar(title: str, *, shown: bool = True) -> Iterator[Told]:
    """A progress bar on stderr, if that is a terminal and --quiet is not given. Call the result with what is done, and
    with the total. The bar vanishes at the end."""
    with titled_bar(title, shown=shown) as told:
        yield lambda done, total: told(title, done, total)


@contextmanager
def titled_bar(title: str, *, shown: bool) -> Iterator[ToldTitle]:
    if not shown or is_quiet() or not sys.stderr.isatty():
        yield lambda title, done, total: None  # noqa: ARG005 - no bar is drawn
        return
    from rich.console import Console  # noqa: PLC0415 - loaded where a bar is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda title, done, total: progress.update(task, description=title, completed=done, total=total)


MEMORY: Final = "memory:"
_PORTS: Final = {"zookeeper": "2181", "etcd": "2379"}  # where a url names none


def is_same_place(source: str, target: str) -> bool:
    """Whether both urls name the same store, or one below the other. Servers that have several names are not known."""
    if MEMORY in {source[: len(MEMORY)], target[: len(MEMORY)]}:
        return (
            source.startswith(MEMORY)
            and target.startswith(MEMORY)
            and file_of(source).resolve() == file_of(target).resolve()
        )
    (scheme, hosts, path), (other, other_hosts, other_path) = _place(source), _place(target)
    is_nested = f"{path}/".startswith(f"{other_path}/") or f"{other_path}/".startswith(f"{path}/")
    return scheme == other and not hosts.isdisjoint(other_hosts) and is_nested


def _place(url: str) -> tuple[str, frozenset[str], str]:
    scheme, _, place = public_url(url).partition("://")
    hosts, _, path = place.partition("/")
    port = _PORTS.get(scheme, "")
    named = (
        host if numerals.whole(host.rpartition(":")[2]) is not None else f"{host}:{port}"
        for host in hosts.lower().split(",")
    )
    return scheme, frozenset(named), f"/{unquote(path)}".rstrip("/")


def file_of(url: str) -> Path:
    return Path(url.removeprefix(MEMORY))
