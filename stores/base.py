"""The contract of a metadata store: bytes under keys, nothing of partitions.

An author of a backend works from this file, from `stores.checks`, which refuses bad keys and ops, and from
`stores.suite`, which checks every sentence below.

Rules
* A store object is a *client with one session*. `another_session()` opens a second client on the same server.
  All calls are synchronous, thread-safe, and never call user code; every call takes a timeout in seconds, relative.
* Keys are absolute: `/a/b`, segments of `[A-Za-z0-9._<>-]`, no empty segment, neither `.` nor `..`, no trailing slash.
  The store's root or chroot is applied inside. Parents need not exist: a backend that needs them makes them, and such
  nodes without data are invisible (`get` says None, `snapshot` leaves them out) unless they were put, with b"" or not.
  Two traces of such a node are allowed: a key that is put over it may begin at a generation above 0, and an op that
  expects PRESENT of it may pass. A version always comes from something visible, so it is exact.
* Values are bytes, never None; b"" is a value.
* Plain reads may lag behind what other clients wrote, never behind this session's own commits. `sync=True` is
  linearizable: it sees every commit that anybody saw acknowledged before the call.
* `commit` is the only write: all or nothing, and it never retries by itself. What cannot be known is said
  (`OutcomeUnknown`), never guessed.
* Watches are hints: "look again at this key". They may repeat and merge, they carry no payload, and after a commit that
  anyone saw acknowledged every subscriber gets a `Changed` or a `Resync`. A hint does not promise that the look
  succeeds: a Resync after trouble may come before the connection for reads is back.
"""

from __future__ import annotations

import abc
import enum
import sys
from array import array
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NewType, TypeAlias

import attrs

if TYPE_CHECKING:
    from attrs import frozen as _frozen
elif sys.flags.dev_mode:
    _frozen = attrs.frozen
else:  # by a frozen class each field of an op is stored by a call, and a controller makes more than two ops a move
    _frozen = partial(attrs.define, unsafe_hash=True, on_setattr=attrs.setters.NO_OP)

Version = NewType("Version", int)
"""What compare-and-set compares. Opaque: equality only. Always >= 1, so that it is true and fits an `array('q')`; a
backend whose own versions begin at 0 (ZooKeeper's node version) shifts them. Memory and etcd: the revision of the last
write of the key."""


class _Expectation(enum.Enum):
    ABSENT = "absent"
    PRESENT = "present"

    def __repr__(self) -> str:
        return self.name


ABSENT: Final = _Expectation.ABSENT
PRESENT: Final = _Expectation.PRESENT
Expect: TypeAlias = Version | Literal[_Expectation.ABSENT, _Expectation.PRESENT]
"""What an op demands of its key before the commit: it does not exist, it exists whatever its version, or it stands at
just this version. Stated on every op; there is no default and no upsert."""


@_frozen
class Put:
    """Write `value` under `key`. An ephemeral key goes when the session that put it ends.

    `Invalid`: rewriting an own ephemeral key with `ephemeral=False`; rewriting with `ephemeral=True` what is not
    ephemeral or another session's; an ephemeral key with keys below it. What an ordinary Put does to another session's
    ephemeral key is not defined: `Invalid`, or it stays that session's.
    """

    key: str
    value: bytes
    expect: Expect
    ephemeral: bool = False


@_frozen
class Delete:
    """Remove `key`. `expect` is PRESENT or a version; ABSENT is `Invalid`."""

    key: str
    expect: Expect


@_frozen
class Check:
    """Demand something of `key` and change nothing."""

    key: str
    expect: Expect


Op: TypeAlias = Put | Delete | Check


@_frozen
class Entry:
    """One key as it was read.

    `generation`: how often the key was written since it was created (0 = only created). ZooKeeper: stat.version; etcd:
    kv.version - 1. It is the partition epoch of a state key.
    `created`: a number that is higher the later the key was created (czxid, create_revision). It is the broker epoch.
    `owner`: the session that holds an ephemeral key, None for others.
    """

    key: str
    value: bytes
    version: Version
    generation: int
    created: int
    owner: int | None = None


@_frozen
class Columns:
    """Many keys as parallel columns, without an object per key: `values[i]` is None and the numbers are 0 where
    `keys[i]` does not exist. What a bulk load reads."""

    values: list[bytes | None]
    versions: array[int]
    generations: array[int]


@_frozen
class Snapshot:
    """All keys below a prefix (the prefix itself excluded), sorted by key. `cursor` may be given to `subscribe`, which
    then misses nothing that was written after the snapshot. `consistent` says whether it shows one instant."""

    entries: tuple[Entry, ...]
    cursor: int
    consistent: bool


@_frozen
class Commit:
    """What a commit left: one version per op, aligned; None for Delete and for Check."""

    versions: tuple[Version | None, ...]


class Depth(enum.Enum):
    """What a subscription watches."""

    SELF = "self"  # the key itself
    CHILDREN = "children"  # the names directly below it: created and deleted, not rewritten
    VALUES = "values"  # the keys directly below it: created, deleted and rewritten


@_frozen
class Changed:
    """Look again at `key`: it was created, written or deleted, perhaps more than once."""

    key: str


@_frozen
class Resync:
    """Look again at everything that is watched below `prefix`: something may have been missed. Reasons: "initial",
    "overflow", "session", "reconnected", "compacted", "injected"."""

    prefix: str
    reason: str


class SessionState(enum.Enum):
    """SUSPENDED: no connection, the session may yet live. RESUMED: the same session again. LOST: it ended, its
    ephemeral keys are gone. STARTED: a new one, with a new id."""

    SUSPENDED = "suspended"
    RESUMED = "resumed"
    LOST = "lost"
    STARTED = "started"


@_frozen
class SessionChanged:
    """The session changed its state. Comes in the same ordered stream as the hints."""

    state: SessionState
    session_id: int


StoreEvent: TypeAlias = Changed | Resync | SessionChanged


@_frozen
class Session:
    """The session of a client: its id, and whether it is in contact with the server just now."""

    session_id: int
    connected: bool


@_frozen
class Capabilities:
    """What a backend declares and the suite checks. Bytes of a commit are counted by `op_bytes`; `ops_max` counts
    every op."""

    name: str
    value_bytes_max: int
    commit_ops_max: int
    commit_bytes_max: int
    atomic_snapshot: bool  # snapshot() is one instant
    versions_unique: bool  # a key that is deleted and created again never repeats a version
    parents_stay: bool  # `children` may go on to name what once led to keys, and leads to none any more
    session_timeout_s_min: float


class StoreError(Exception):
    """Root of all errors of a store.

    `applied`: "no" = nothing was written; "unknown" = it may have been. `retryable`: the same call may succeed later.
    `key`: the key it is about, where there is one.
    """

    applied: Literal["no", "unknown"] = "no"
    retryable: bool = False

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class Conflict(StoreError):
    """An expectation did not hold; nothing was applied. `index` is the first failing op as given to `commit`; among ops
    on keys that stand below each other it may be another failing one."""

    def __init__(self, message: str, *, key: str, index: int) -> None:
        super().__init__(message, key=key)
        self.index = index


class Unavailable(StoreError, ConnectionError):
    """The request was provably not sent."""

    retryable = True


class OutcomeUnknown(StoreError, TimeoutError):
    """The request was sent and no answer came: it may have been applied. `stores.recipes.resolve` finds out."""

    applied = "unknown"


class SessionExpired(StoreError):
    """The session had ended before the request was sent."""


class TooLarge(StoreError, ValueError):
    """A value, or the commit as a whole, is over what the store declares. Nothing was sent."""


class Invalid(StoreError, ValueError):
    """The ops are not well formed: duplicate keys, an ephemeral key with children, ... Nothing was sent."""


class InvalidKey(Invalid):
    """Not a key as the contract defines it."""


class Unauthorized(StoreError, PermissionError):
    """The server refuses the credentials, or what they may do."""


class Closed(StoreError):
    """The store was closed by this process."""


class Corrupt(StoreError, ValueError):
    """What was read is not what this library wrote: a torn or foreign snapshot file, a broken frame."""


class Subscription(abc.ABC):
    """An ordered stream of hints and session events. Bounded: an overflow drops the hints that are queued (session
    events stay) and gives one Resync per prefix. Use from one thread at a time, `close` from any."""

    @abc.abstractmethod
    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:
        """Watch `prefix` too, in this same stream, which gets a Resync(prefix, "initial") first."""

    @abc.abstractmethod
    def remove(self, prefix: str) -> None:
        """Watch `prefix` no more. Hints already queued may still come."""

    @abc.abstractmethod
    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event, or None after `timeout_s` (0: at once) or once this stream was closed. Raises nothing but
        Closed, once the store was closed."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the stream. Idempotent. A `poll` under way returns None."""


class MetadataStore(abc.ABC):
    """A client of a metadata store with one session. See the rules at the head of this module."""

    @property
    @abc.abstractmethod
    def capabilities(self) -> Capabilities:
        """What this backend can do; constant for the life of the object."""

    @property
    @abc.abstractmethod
    def session(self) -> Session:
        """The present session. Never blocks."""

    @property
    @abc.abstractmethod
    def session_timeout_s(self) -> float:
        """After how long without contact the server ends the session, in seconds."""

    @abc.abstractmethod
    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """The entry, or None if there is no such key. `sync=True` is linearizable."""

    @abc.abstractmethod
    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """One result per key, aligned; not one instant. As fast as the backend can."""

    @abc.abstractmethod
    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        """`get_many` as parallel columns, for loads of hundreds of thousands of keys."""

    @abc.abstractmethod
    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """The names (single segments) directly below `key` ("/" = the root) that are keys or lead to keys, sorted. See
        `Capabilities.parents_stay`."""

    @abc.abstractmethod
    def created_below(self, key: str, *, timeout_s: float) -> int:
        """How many keys were ever created directly below `key`, those that went since included, where the backend
        counts them: the number that ZooKeeper gives the next sequential node there. 0 where it does not count, and
        where there is no such parent. Linearizable."""

    @abc.abstractmethod
    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """All keys below `prefix` ("/" = everything). A sibling with the same beginning (`/dir2` for `/dir`) is not
        below."""

    @abc.abstractmethod
    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """Apply all ops or none. No ops: nothing is sent. A key may stand in one op only.

        Raises Conflict (nothing applied), TooLarge, Invalid and InvalidKey (before anything is sent), Unavailable and
        SessionExpired (provably not applied), OutcomeUnknown (the ops may have been applied), Unauthorized, Closed.
        """

    @abc.abstractmethod
    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> Subscription:
        """Open a stream. Its first event is Resync(prefix, "initial"); what is written after the call, or after the
        snapshot that gave `cursor`, is hinted. Never waits for the server: it may be called while the session is
        suspended, and the first event comes when watching has begun. Raises Closed."""

    @abc.abstractmethod
    def another_session(self) -> MetadataStore:
        """A second client of the same server and root, over a connection and with a session of its own. Raises
        Unavailable if the server does not answer, Closed."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the session: its ephemeral keys go, at once if the server can be reached, else when the session times
        out. Idempotent, never waits long. Later calls raise Closed; calls under way end with their answer, with Closed
        or with OutcomeUnknown."""
