"""The client of an etcd store: the contract of `kedge.stores.base`."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from typing import Any, Final

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
    OutcomeUnknown,
    Session,
    SessionExpired,
    Snapshot,
)
from ..checks import check_key, check_ops, check_prefix
from ..probing import ServerState
from .keys import Keys
from .reads import Reader, entries_of, sent
from .session import EtcdSession
from .status import states
from .txn import ETCD_OPS_MAX, Transaction
from .url import EtcdUrl
from .wait import Deadline
from .watches import EtcdSubscription, Watches

CAPABILITIES: Final = Capabilities(
    name="etcd",
    value_bytes_max=1_000_000,
    commit_ops_max=ETCD_OPS_MAX,
    # etcd takes requests of 1.5 MiB. Each key is sent three times with the root before it (compare, op, and the read of
    # the other branch); for 128 of the longest keys below the longest root that is 360,000 bytes.
    commit_bytes_max=1_200_000,
    atomic_snapshot=True,
    versions_unique=True,
    parents_stay=False,
    session_timeout_s_min=2.0,  # 1.5 times etcd's default election timeout, in whole seconds
)


class EtcdStore(MetadataStore):
    """A client whose session is one lease. Raises Unavailable if no endpoint answers within the url's connect_timeout,
    Unauthorized, Invalid for files that cannot be read."""

    def __init__(self, url: EtcdUrl) -> None:
        self.url: Final = url
        self._keys: Final = Keys(url.root)
        self._watches: Final = Watches(self._keys)
        self._session: Final = EtcdSession(url, self._watches)
        self._reader: Final = Reader(self._session, self._keys, lambda: self._watches.revision)
        self._lock: Final = threading.Lock()
        self._lease_id = 0
        self._mine: frozenset[str] = frozenset()  # ephemeral keys that this lease may hold

    @property
    def capabilities(self) -> Capabilities:
        """With the default limits of etcd."""
        return CAPABILITIES

    @property
    def session(self) -> Session:
        """The session; its id is that of the lease."""
        return self._session.session

    @property
    def session_timeout_s(self) -> float:
        """The lease time that the server granted: whole seconds, at least about two."""
        return float(self._session.lease_s)

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """Read one key by a range request."""
        check_key(key)
        return self._reader.get(key, Deadline(timeout_s), sync=sync)

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """Read by ranges where the keys are close together."""
        self._demand_open()
        return entries_of(keys, self._reader.many(keys, Deadline(timeout_s)))

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        self._demand_open()
        kvs = self._reader.many(keys, Deadline(timeout_s))
        values: list[bytes | None] = [None if kv is None else kv.value for kv in kvs]
        versions = array("q", [0 if kv is None else kv.mod_revision for kv in kvs])
        return Columns(values, versions, array("q", [0 if kv is None else kv.version - 1 for kv in kvs]))

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """The names directly below `key`. Reads all keys below it, without values."""
        check_prefix(key)
        return self._reader.names(key, Deadline(timeout_s))

    def created_below(self, key: str, *, timeout_s: float) -> int:  # noqa: ARG002 - nothing is sent
        """0: etcd does not count keys."""
        check_prefix(key)
        self._demand_open()
        return 0

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """All keys below `prefix` as of one revision, which is the cursor."""
        check_prefix(prefix)
        return self._reader.snapshot(prefix, Deadline(timeout_s))

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """One transaction."""
        check_ops(ops, CAPABILITIES)
        self._demand_open()
        return self._commit(ops, Deadline(timeout_s)) if ops else Commit(())

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> EtcdSubscription:
        """Open a stream, also while the session is suspended."""
        check_prefix(prefix)
        stream = self._watches.open()
        stream.add(prefix, depth, cursor)
        return stream

    def another_session(self) -> EtcdStore:
        """A second client of the same cluster and root."""
        self._demand_open()
        return EtcdStore(self.url)

    def close(self) -> None:
        """Revoke the lease, which deletes the ephemeral keys, if the server can be reached."""
        self._watches.close()
        self._session.close()

    def abandon(self) -> None:
        """End this client as if its process had died: the server is not informed. It ends the session, and deletes its
        ephemeral keys, after the session time without contact."""
        self._watches.close()
        self._session.close(give_back=False)

    # For people: `kedge.stores.probing`

    @property
    def bulk_reads(self) -> bool:
        """Always: etcd has ranges."""
        return True

    def servers(self, *, timeout_s: float) -> tuple[ServerState, ...]:
        """The state of each endpoint of the url, over a separate connection."""
        return states(self.url, Deadline(timeout_s))

    def __repr__(self) -> str:
        """The place without credentials."""
        return f"EtcdStore({self.url.place})"

    def _commit(self, ops: Sequence[Op], deadline: Deadline) -> Commit:
        transaction: Transaction | None = None
        lease_id = 0

        def send(link: Any) -> Any:
            nonlocal transaction, lease_id
            lease_id = self._session.session.session_id
            transaction = Transaction(self._keys, ops, lease_id, self._held_by(lease_id))
            return link.call(link.kv.Txn, transaction.request, deadline)

        try:
            answer = sent(self._session, send, deadline, f"commit of {len(ops)} ops")
        except SessionExpired:
            self._session.look_now()
            raise
        except (OutcomeUnknown, Closed) as error:
            if transaction is None:
                raise
            self._hold(lease_id, transaction.ephemeral, frozenset())
            raise OutcomeUnknown(str(error), key=ops[0].key) from error
        assert transaction is not None  # an answer implies that it was sent
        self._reader.saw(answer.header.revision)
        if not answer.succeeded:
            raise transaction.refusal(answer)
        self._hold(lease_id, transaction.ephemeral, transaction.deleted)
        return transaction.commit(answer)

    def _held_by(self, lease_id: int) -> frozenset[str]:
        """The ephemeral keys that this lease may hold: a Put of one of them as an ordinary key needs a compare more. A
        lease that is new replaces the former one."""
        with self._lock:
            if self._lease_id != lease_id:
                self._lease_id, self._mine = lease_id, frozenset()
            return self._mine

    def _hold(self, lease_id: int, put: frozenset[str], deleted: frozenset[str]) -> None:
        """Record keys that the lease may hold from now on, and those that it does not. A key may be gone, which only
        causes an additional compare."""
        with self._lock:
            if lease_id == self._lease_id:
                self._mine = (self._mine - deleted) | put

    def _demand_open(self) -> None:
        if self._session.closed:
            raise Closed("the store was closed")


def check_not_empty(store: EtcdStore, timeout_s: float) -> None:
    """Raise Invalid if there is no key below the root."""
    if not store.children("/", timeout_s=timeout_s):
        raise Invalid(f"nothing to read at {store.url.place}: no key is there")
