"""`setWatches`, a request of ZooKeeper's protocol that kazoo lacks: watches on thousands of nodes at once.

Rules
* It has the number of a transaction. A node that was written or deleted since then, or created though it is listed as
  absent, gets its event at once; the others are watched from now on. Clients send it after a reconnect, but it also
  works without earlier watches.
* Events may arrive before the answer, so kazoo must know the watchers before the request is sent: they are registered
  while it is written, on kazoo's own thread.
* Watching takes 0.01 ms per node in a request of thousands, and 0.16 ms one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from kazoo.client import KazooClient

SET_WATCHES: Final = 101
_REQUEST_BYTES_MAX: Final = 400_000
_ZXID: Final = struct.Struct("!q")
_LENGTH: Final = struct.Struct("!i")

Watcher = Callable[[Any], None]


class SetWatches:
    """Watches the nodes in `watchers` (path -> callback for one event), as of the transaction `zxid`. Those in `absent`
    are watched for being created, the others for being written or deleted."""

    type = SET_WATCHES

    def __init__(
        self, client: KazooClient, zxid: int, watchers: Mapping[str, Watcher], absent: Collection[str] = ()
    ) -> None:
        self._client = client
        self._zxid = zxid
        self._watchers = watchers
        self._absent = absent

    def serialize(self) -> bytes:
        known = self._client._data_watchers  # noqa: SLF001 - kazoo enters only watchers of its own requests
        for path, watcher in self._watchers.items():
            known[path].add(watcher)
        present = [path for path in self._watchers if path not in self._absent]
        absent = [path for path in self._watchers if path in self._absent]
        return _ZXID.pack(self._zxid) + _vector(present) + _vector(absent) + _vector([])  # no children

    def deserialize(self, buffer: bytes, offset: int) -> None:
        """The answer is empty."""

    def __repr__(self) -> str:
        return f"setWatches on {len(self._watchers)} nodes"


def _vector(paths: list[str]) -> bytes:
    return _LENGTH.pack(len(paths)) + b"".join(_LENGTH.pack(len(path)) + path.encode("ascii") for path in paths)


def parted(watchers: Mapping[str, Watcher]) -> Iterator[dict[str, Watcher]]:
    """In parts that fit into one request each."""
    part: dict[str, Watcher] = {}
    size = 0
    for path, watcher in watchers.items():
        part[path] = watcher
        size += len(path) + _LENGTH.size
        if size >= _REQUEST_BYTES_MAX:
            yield part
            part, size = {}, 0
    if part:
        yield part
