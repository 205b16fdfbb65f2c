"""Opening the store of a command: what goes wrong is one line on stderr and exit code 2, without options of the url,
where passwords are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from controller.cli.printing import fail, without_place
from controller.codec import keys
from stores import MetadataStore, StoreError, open_store, public_url, transfer

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
