"""A metadata store under a controller: the contract, the memory store, injected faults.

The contract stands in `stores.base`, what is written once above it in `stores.recipes`, the suite that every backend
must pass in `stores.suite`.
"""

from typing import Final

from stores.base import (
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
from stores.etcd import open_etcd
from stores.faults import FaultStore
from stores.memory import MemoryServer, MemoryStore

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
    """A client of the store that `url` names, with a session of its own.

    "memory:" is a memory server of its own, which nobody else sees; "memory:FILE" begins with what FILE holds, if it
    exists, and saves to it when the store is closed (see `stores.memory.server`). Raises Corrupt if FILE is torn or
    foreign, BlockingIOError while another process has it open to save to it, OSError if it cannot be read.

    "zookeeper://HOSTS/CHROOT?OPTIONS" is a ZooKeeper ensemble (see `stores.zookeeper.url`; the extra `zookeeper`),
    "etcd://HOSTS/PREFIX?OPTIONS" an etcd (see `stores.etcd`; the extra `etcd`). Raises Unavailable, Unauthorized.

    Invalid for anything else, and where the packages that a store needs are not installed. A url may hold a password,
    which is in no message.

    `read_only`: what is opened must be there, and opening and closing it writes nothing; what is committed to it all
    the same may be lost.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in _SCHEMES:
        known = ", ".join(f"{name}:" for name in _SCHEMES)
        raise Invalid(f"a store url begins with one of {known} - found {public_url(url)!r}")
    if scheme == "etcd":
        return open_etcd(url, read_only=read_only)
    if scheme == "zookeeper":
        from stores.zookeeper import open_zookeeper  # noqa: PLC0415 - kazoo is asked for only where it is used

        return open_zookeeper(url, read_only=read_only)
    if read_only:
        if not rest:
            raise Invalid("memory: names no file, so there is nothing to read - memory:FILE does")
        return MemoryStore(MemoryServer.load(rest))  # not file=, which saves on close
    return MemoryStore(file=rest) if rest else MemoryStore()


def public_url(url: str) -> str:
    """The url as it may be printed: without options, and without what stands before a host, where passwords are."""
    if url.startswith("memory:"):
        return url
    place = url.partition("?")[0]
    before, at, after = place.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return (f"{scheme}://{after}" if slashes else after) if at else place
