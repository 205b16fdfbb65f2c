"""All keys below a prefix, level by level.

Rules
* Reading level by level is not atomic. But if nothing was written meanwhile, the snapshot is of one instant, which can
  be shown: each answer has the number of the last transaction that its server had applied. If it is the same in the
  first and the last answer, all answers show that one state.
* `/zookeeper` belongs to the server, and names that are not valid keys to other programs: both are skipped.
"""

from __future__ import annotations

from typing import Final

from kazoo.protocol.serialization import Sync

from ..base import Entry, InvalidKey, Snapshot, Version
from ..checks import below, check_key
from .bulk import Bulk
from .link import Link
from .wire import Node

OWN_KEY: Final = "/zookeeper"


def take(link: Link, bulk: Bulk, prefix: str, deadline_s: float) -> Snapshot:
    """The snapshot, at least as new as every commit that any client saw acknowledged before the call."""
    chroot = link.address.chroot
    first = sync(link, deadline_s)
    entries: list[Entry] = []
    level = [prefix]
    while level:
        paths = [(chroot + key if key != "/" else chroot) or "/" for key in level]
        names = bulk.children(paths, deadline_s)
        keys = [below(key) + name for key, some in zip(level, names, strict=True) for name in some]
        keys = [key for key in keys if is_ours(key, chroot)]
        nodes = bulk.nodes([chroot + key for key in keys], deadline_s)
        found = [(key, node) for key, node in zip(keys, nodes, strict=True) if node is not None]
        entries += [entry(key, node) for key, node in found if node.is_key]
        level = [key for key, node in found if node.child_count]
    last = sync(link, deadline_s)
    entries.sort(key=lambda one: one.key)
    return Snapshot(tuple(entries), first, consistent=first == last)


def sync(link: Link, deadline_s: float) -> int:
    """Make this client's server catch up with the leader; return the last transaction that it had applied then."""
    request = CatchUp(link)
    try:
        link.wait(link.send(request), deadline_s)
    except Exception as error:
        raise link.failed(error, sent=True) from error
    return request.zxid


class CatchUp:
    """kazoo's sync, keeping the number of the last transaction from its answer."""

    type = Sync.type

    def __init__(self, link: Link) -> None:
        self._link = link
        self.zxid = 0

    def serialize(self) -> bytes:
        path: bytes = Sync(self._link.address.chroot or "/").serialize()
        return path

    def deserialize(self, buffer: bytes, offset: int) -> bytes:
        self.zxid = self._link.client.last_zxid  # set by kazoo from this answer, on this thread
        return buffer[offset:]


def is_ours(key: str, chroot: str) -> bool:
    """Whether a node is, by its name, a key of the store."""
    try:
        check_key(key)
    except InvalidKey:
        return False
    return bool(chroot) or key != OWN_KEY


def entry(key: str, node: Node) -> Entry:
    """The contract's entry for a node that is a key."""
    return Entry(key, node.data or b"", Version(node.version + 1), node.version, node.created, node.owner or None)
