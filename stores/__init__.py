"""Metadata stores for a controller: the contract, the backends, and faults for tests.

`kedge.stores.base` is the contract, `kedge.stores.recipes` the code above it that all backends share,
`kedge.stores.suite` the test suite that every backend must pass.
"""

from typing import Final

from .base import (
    ABSENT,
    PRESENT,
    Capabilities,
    Changed,
    Check,
    Closed,
    Columns,
    Commit,
    Conflict,
    Corrupt,
    Delete,
    Depth,
    Entry,
    Expect,
    Invalid,
    InvalidKey,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    Resync,
    Session,
    SessionChanged,
    SessionExpired,
    SessionState,
    Snapshot,
    StoreError,
    StoreEvent,
    Subscription,
    TooLarge,
    Unauthorized,
    Unavailable,
    Version,
)
from .etcd import open_etcd
from .faults import FaultStore
from .memory import MemoryServer, MemoryStore

__all__ = [
    "ABSENT",
    "PRESENT",
    "Capabilities",
    "Changed",
    "Check",
    "Closed",
    "Columns",
    "Commit",
    "Conflict",
    "Corrupt",
    "Delete",
    "Depth",
    "Entry",
    "Expect",
    "FaultStore",
    "Invalid",
    "InvalidKey",
    "MemoryServer",
    "MemoryStore",
    "MetadataStore",
    "Op",
    "OutcomeUnknown",
    "Put",
    "Resync",
    "Session",
    "SessionChanged",
    "SessionExpired",
    "SessionState",
    "Snapshot",
    "StoreError",
    "StoreEvent",
    "Subscription",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "Version",
    "open_store",
    "public_url",
]

_SCHEMES: Final = ("memory", "zookeeper", "etcd")


def open_store(url: str, *, read_only: bool = False) -> MetadataStore:
    """Return a client of the store that `url` names, with a session of its own.

    "memory:" is a new memory server that no other client shares. "memory:FILE" starts with the content of FILE, if it
    exists, and saves to it when the store is closed (see `kedge.stores.memory.server`). Raises Corrupt if FILE is torn
    or was not written by this library, BlockingIOError while another process has it open for saving, OSError if it
    cannot be read.

    "zookeeper://HOSTS/CHROOT?OPTIONS" is a ZooKeeper ensemble (see `kedge.stores.zookeeper.url`; the extra
    `zookeeper`), "etcd://HOSTS/PREFIX?OPTIONS" an etcd cluster (see `kedge.stores.etcd`; the extra `etcd`). Raises
    Unavailable, Unauthorized.

    Raises Invalid for any other url, and if the packages of a store are not installed. A url may hold a password; no
    message contains it.

    `read_only`: the store must have content, and opening and closing it writes nothing. Commits are not prevented, but
    may be lost.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in _SCHEMES:
        known = ", ".join(f"{name}:" for name in _SCHEMES)
        raise Invalid(f"a store url must begin with one of {known}, not {public_url(url)!r}")
    if scheme == "etcd":
        return open_etcd(url, read_only=read_only)
    if scheme == "zookeeper":
        from .zookeeper import open_zookeeper  # noqa: PLC0415 - kazoo is needed only for ZooKeeper

        return open_zookeeper(url, read_only=read_only)
    if read_only:
        if not rest:
            raise Invalid("memory: names no file, so there is nothing to read; give memory:FILE")
        return MemoryStore(MemoryServer.load(rest))  # not file=, which saves on close
    return MemoryStore(file=rest) if rest else MemoryStore()


def public_url(url: str) -> str:
    """The url in a form that may be printed: without options, and without the part before a host that may be a
    password."""
    if url.startswith("memory:"):
        return url
    place = url.partition("?")[0]
    before, at, after = place.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return (f"{scheme}://{after}" if slashes else after) if at else place
