"""The contract of `kedge.stores.base` on ZooKeeper.

Rules
* One store is one session. Reads use the same connection as commits, so they never lag behind them.
* Every call keeps its deadline: a call without an answer then is given up, with an unknown outcome if it was sent.
* The layout is Kafka's: parents are nodes without data.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from kazoo.exceptions import NoNodeError
from kazoo.protocol.serialization import Exists, GetChildren, GetData

from ..base import (
    Capabilities,
    Closed,
    Columns,
    Commit,
    Depth,
    Entry,
    Invalid,
    MetadataStore,
    Op,
    Session,
    Snapshot,
    StoreError,
    Unauthorized,
)
from ..checks import below, check_key, check_ops, check_prefix
from ..probing import ServerState
from .bulk import Bulk, check_keys, node_of
from .commit import Attempt
from .link import Link
from .snapshot import CatchUp, entry, is_ours, take
from .status import states
from .stream import ZooKeeperSubscription
from .url import Address, parse_url

_VALUE_BYTES_MAX: Final = 950_000
_COMMIT_BYTES_MAX: Final = 1_000_000
_COMMIT_OPS_MAX: Final = 2000
_SESSION_TIMEOUT_S_MIN: Final = 0.4  # two ticks of a server with ticks of 200 ms; the default tick is 2 s
_CHROOT_BYTES_MAX: Final = 40_000  # for the chroot in all ops, of what is left of 1,048,575
_CHROOT_FREE: Final = 12  # characters of a chroot that the fixed bytes of an op cover


def open_zookeeper(url: str, *, read_only: bool = False) -> ZooKeeperStore:
    """A client of the ZooKeeper that `url` names (see `kedge.stores.zookeeper.url`), with a session of its own.

    The chroot need not exist: the first commit creates it. With `read_only` it must exist, and commits are refused.
    Raises Invalid for a url that cannot be used, Unavailable if nothing answers in the connect timeout, Unauthorized.
    """
    return ZooKeeperStore(parse_url(url), read_only=read_only)


class ZooKeeperStore(MetadataStore):
    """A client of a ZooKeeper ensemble with one session; thread-safe."""

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        deadline_s = time.monotonic() + address.connect_timeout_s
        self.address: Final = address
        self.link: Final = Link(address)
        self._read_only = read_only
        self._capabilities = _capabilities(address)
        try:
            self._bulk = Bulk(self.link, deadline_s)
            if read_only and address.chroot and self._bulk.nodes([address.chroot], deadline_s) == [None]:
                raise Invalid(f"{address}: the chroot {address.chroot} does not exist")
        except StoreError:
            self.link.close()
            raise
        self.link.opened = True

    def __repr__(self) -> str:
        return f"<ZooKeeperStore {self.address}>"

    # The contract

    @property
    def capabilities(self) -> Capabilities:
        """Snapshots are consistent only if nothing is written meanwhile; versions begin again with each creation."""
        return self._capabilities

    @property
    def session(self) -> Session:
        """The session as this client knows it."""
        return self.link.session

    @property
    def session_timeout_s(self) -> float:
        """The timeout that the server granted, which may differ from the requested one."""
        return self.link.session_timeout_s

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """The entry. With `sync` the server first catches up with its leader, in the same round trip."""
        check_key(key)
        deadline_s = self._begin(timeout_s)
        request = CatchUp(self.link) if sync else None
        caught_up = self.link.send(request) if request is not None else None
        answer = self.link.send(GetData(self._path(key), None))
        try:
            if caught_up is not None:
                self.link.wait(caught_up, deadline_s)
            node = node_of(self.link.wait(answer, deadline_s))
        except NoNodeError:
            return None
        except Exception as error:
            raise self.link.failed(error, sent=True, key=key) from error
        return entry(key, node) if node.is_key else None

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """One result per key, in order; not of one instant."""
        check_keys(keys)
        deadline_s = self._begin(timeout_s)
        nodes = self._bulk.nodes([self._path(key) for key in keys], deadline_s)
        return [
            entry(key, node) if node is not None and node.is_key else None
            for key, node in zip(keys, nodes, strict=True)
        ]

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        """`get_many` as columns, at about 5 us per key."""
        check_keys(keys)
        return self._bulk.columns(keys, self.address.chroot, self._begin(timeout_s))

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """The names directly below `key`, sorted, including former parents of keys."""
        check_prefix(key)
        deadline_s = self._begin(timeout_s)
        try:
            names = self.link.wait(self.link.send(GetChildren(self._path(key), None)), deadline_s)
        except NoNodeError:
            return []
        except Exception as error:
            raise self.link.failed(error, sent=True, key=key) from error
        return sorted(name for name in names if is_ours(below(key) + name, self.address.chroot))

    def created_below(self, key: str, *, timeout_s: float) -> int:
        """The server's count of creations. Its `cversion` counts creations and deletions below the node; adding the
        present children, which were created and not deleted, gives twice the creations."""
        check_prefix(key)
        deadline_s = self._begin(timeout_s)
        caught_up = self.link.send(CatchUp(self.link))
        answer = self.link.send(Exists(self._path(key), None))
        try:
            self.link.wait(caught_up, deadline_s)
            stat = self.link.wait(answer, deadline_s)
        except Exception as error:
            raise self.link.failed(error, sent=True, key=key) from error
        return 0 if stat is None else (stat.cversion + stat.numChildren) // 2

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """All keys below `prefix`; `consistent` if nothing at all was written meanwhile."""
        check_prefix(prefix)
        return take(self.link, self._bulk, prefix, self._begin(timeout_s))

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """Apply all ops or none, as one transaction."""
        check_ops(ops, self._capabilities)
        deadline_s = self._begin(timeout_s)
        if self._read_only:
            raise Unauthorized(f"{self.address}: opened for reading only")
        return Attempt(self.link, self._bulk, ops, deadline_s).run() if ops else Commit(())

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> ZooKeeperSubscription:
        """Open a stream, also while the client is not connected."""
        check_prefix(prefix)
        stream = ZooKeeperSubscription(self.link)
        stream.add(prefix, depth, cursor)
        return stream

    def another_session(self) -> ZooKeeperStore:
        """A second client of the same ensemble and chroot."""
        if self.link.closed:
            raise Closed("the store was closed")
        return ZooKeeperStore(self.address, read_only=self._read_only)

    def close(self) -> None:
        """End the session; waits a moment for the server."""
        self.link.close()

    def abandon(self) -> None:
        """End this client as if its process had died: the server is not informed. It ends the session, and deletes its
        ephemeral keys, after the session time without contact."""
        self.link.close(say_so=False)

    # For people: `kedge.stores.probing`

    @property
    def bulk_reads(self) -> bool:
        """Whether the server has multiRead."""
        return self._bulk.multi_read

    def servers(self, *, timeout_s: float) -> tuple[ServerState, ...]:
        """The state of each host of the url, over a separate connection."""
        return states(self.address, timeout_s)

    def _begin(self, timeout_s: float) -> float:
        """The deadline of a call. Raises unless the client is connected."""
        self.link.demand_contact()
        return time.monotonic() + timeout_s

    def _path(self, key: str) -> str:
        return self.address.chroot + key if key != "/" else self.address.chroot or "/"


def _capabilities(address: Address) -> Capabilities:
    """A long chroot takes more room than the fixed bytes of an op cover, so fewer ops fit."""
    beyond = max(1, len(address.chroot) - _CHROOT_FREE)
    return Capabilities(
        name="zookeeper",
        value_bytes_max=_VALUE_BYTES_MAX,
        commit_ops_max=min(_COMMIT_OPS_MAX, _CHROOT_BYTES_MAX // beyond),
        commit_bytes_max=_COMMIT_BYTES_MAX,
        atomic_snapshot=False,
        versions_unique=False,
        parents_stay=True,
        session_timeout_s_min=_SESSION_TIMEOUT_S_MIN,
    )
