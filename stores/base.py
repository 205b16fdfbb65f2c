"""The contract of a metadata store: bytes under keys. It knows nothing of partitions.

To write a backend, read this file and `kedge.stores.checks`, which refuses invalid keys and ops. `kedge.stores.suite`
tests every sentence below.

Rules
* A store object is a *client with one session*. `another_session()` opens a second client of the same server. All calls
  are synchronous and thread-safe, never call user code, and take a relative timeout in seconds.
* Keys are absolute: `/a/b`, segments of `[A-Za-z0-9._<>-]`, no empty segment, neither `.` nor `..`, no trailing slash.
  The root or chroot of the store is added inside. Parents need not exist. A backend that needs parents creates them,
  and such nodes are invisible (`get` returns None, `snapshot` leaves them out) until a Put writes them, be it with b"".
  Two traces of such a node are allowed: a key that is put over it may begin at a generation above 0, and an op that
  expects PRESENT may pass on it. A version comes only from a visible key, so it is exact.
* Values are bytes, never None; b"" is a value.
* Plain reads may lag behind writes of other clients, but never behind commits of this session. `sync=True` is
  linearizable: it sees every commit that was acknowledged, to any client, before the call.
* `commit` is the only write. It applies all ops or none, and never retries. If it cannot know the outcome, it raises
  `OutcomeUnknown`.
* Watches are hints: "read this key again". Hints may repeat and merge, and carry no value. After every commit that was
  acknowledged to any client, each subscriber gets a `Changed` or a `Resync`. The read after a hint may fail: a Resync
  after a failure may arrive before the connection for reads is back.
"""

from __future__ import annotations

import abc
import enum
from array import array
from collections.abc import Sequence
from typing import Final, Literal, NewType, TypeAlias

import attrs

Version = NewType("Version", int)
"""What compare-and-set compares. Opaque: compare for equality only. At least 1, so that it is true and fits an
`array('q')`; a backend whose versions begin at 0 (ZooKeeper's node version) shifts them. Memory and etcd: the revision
of the last write of the key."""


class _Expectation(enum.Enum):
    ABSENT = "absent"
    PRESENT = "present"

    def __repr__(self) -> str:
        return self.name


ABSENT: Final = _Expectation.ABSENT
PRESENT: Final = _Expectation.PRESENT
Expect: TypeAlias = Version | Literal[_Expectation.ABSENT, _Expectation.PRESENT]
"""The state of a key that an op requires before the commit: it does not exist, it exists with any version, or it has
exactly this version. Every op states it; there is no default and no upsert."""


@attrs.frozen
class Put:
    """Write `value` under `key`. An ephemeral key is deleted when the session that put it ends.

    `Invalid`: rewriting an ephemeral key of this session with `ephemeral=False`; rewriting with `ephemeral=True` a key
    that is ordinary or belongs to another session. An ordinary Put on another session's ephemeral key is undefined: it
    raises `Invalid`, or the key stays that session's. A key below an ephemeral key is undefined, too: ZooKeeper raises
    `Invalid`, other backends put it.
    """

    key: str
    value: bytes
    expect: Expect
    ephemeral: bool = False


@attrs.frozen
class Delete:
    """Remove `key`. `expect` is PRESENT or a version; ABSENT is `Invalid`."""

    key: str
    expect: Expect


@attrs.frozen
class Check:
    """Require a state of `key` without changing it."""

    key: str
    expect: Expect


Op: TypeAlias = Put | Delete | Check


@attrs.frozen
class Entry:
    """One key as it was read.

    `generation`: how often the key was written since its creation (0: only created). ZooKeeper: stat.version; etcd:
    kv.version - 1. For a state key it is the partition epoch.
    `created`: a number that rises with the time of creation (czxid, create_revision). For a registration it is the
    broker epoch. `owner`: the session that holds an ephemeral key, None for others.
    """

    key: str
    value: bytes
    version: Version
    generation: int
    created: int
    owner: int | None = None


def as_read(entry: Entry | None) -> Expect:
    """The expectation that a key is still as it was read: at the version of `entry`, None for an absent key."""
    return ABSENT if entry is None else entry.version


@attrs.frozen
class Columns:
    """Many keys as parallel columns, without an object per key; for bulk loads. If `keys[i]` does not exist,
    `values[i]` is None and its numbers are 0."""

    values: list[bytes | None]
    versions: array[int]
    generations: array[int]


@attrs.frozen
class Snapshot:
    """All keys below a prefix (without the prefix itself), sorted by key. `subscribe` with `cursor` misses nothing that
    was written after the snapshot; if the cursors of two snapshots are equal, nothing was written in between.
    `consistent`: whether all entries are of one instant."""

    entries: tuple[Entry, ...]
    cursor: int
    consistent: bool


@attrs.frozen
class Commit:
    """The result of a commit: one version per op, in order; None for Delete and Check."""

    versions: tuple[Version | None, ...]


class Depth(enum.Enum):
    """What a subscription watches."""

    SELF = "self"  # the key itself
    CHILDREN = "children"  # the names directly below it: created and deleted, not rewritten
    VALUES = "values"  # the keys directly below it: created, deleted and rewritten


@attrs.frozen
class Changed:
    """Read `key` again: it was created, written or deleted, perhaps more than once."""

    key: str


@attrs.frozen
class Resync:
    """Read everything again that is watched below `prefix`: changes may have been missed. Reasons: "initial",
    "overflow", "session", "reconnected", "compacted", "unseen", "injected"."""

    prefix: str
    reason: str


class SessionState(enum.Enum):
    """SUSPENDED: no connection, the session may still live. RESUMED: connected again in the same session. LOST: the
    session ended, its ephemeral keys are deleted. STARTED: a new session, with a new id."""

    SUSPENDED = "suspended"
    RESUMED = "resumed"
    LOST = "lost"
    STARTED = "started"


@attrs.frozen
class SessionChanged:
    """The session changed its state. It arrives in the same ordered stream as the hints."""

    state: SessionState
    session_id: int


StoreEvent: TypeAlias = Changed | Resync | SessionChanged


@attrs.frozen
class Session:
    """The session of a client: its id, and whether it is connected now. `why`: why it is not, and where it tried,
    for people; empty if it is, or if nothing is known."""

    session_id: int
    connected: bool
    why: str = ""


@attrs.frozen
class Capabilities:
    """The properties and limits of a backend, which the suite checks. `op_bytes` counts the bytes of a commit; every op
    counts for `commit_ops_max`."""

    name: str
    value_bytes_max: int
    commit_ops_max: int
    commit_bytes_max: int
    atomic_snapshot: bool  # snapshot() is one instant
    versions_unique: bool  # a key that is deleted and created again never repeats a version
    parents_stay: bool  # `children` may name former parents of keys that have no keys below them any more
    session_timeout_s_min: float


class StoreError(Exception):
    """Root of all errors of a store.

    `applied`: "no": nothing was written; "unknown": it may have been. `retryable`: the same call may succeed later.
    `key`: the key that the error is about, if there is one.
    """

    applied: Literal["no", "unknown"] = "no"
    retryable: bool = False

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class Conflict(StoreError):
    """An expectation was not met; nothing was applied. `index`: the first failing op as given to `commit`; among ops on
    keys of which one is below another, it may be a later failing one."""

    def __init__(self, message: str, *, key: str, index: int) -> None:
        super().__init__(message, key=key)
        self.index = index


class Unavailable(StoreError, ConnectionError):
    """The request was not sent; this is certain."""

    retryable = True


class OutcomeUnknown(StoreError, TimeoutError):
    """The request was sent and no answer arrived: it may have been applied. `kedge.stores.recipes.resolve` finds
    out."""

    applied = "unknown"


class SessionExpired(StoreError):
    """The session had ended before the request was sent."""


class TooLarge(StoreError, ValueError):
    """A value, or the whole commit, exceeds the declared limits. Nothing was sent."""


class Invalid(StoreError, ValueError):
    """The ops are malformed, such as two for one key. Nothing was applied."""


class InvalidKey(Invalid):
    """The text is not a key as the contract defines it."""


class Unauthorized(StoreError, PermissionError):
    """The server refused the credentials, or the user lacks the permission."""


class Closed(StoreError):
    """The store was closed by this process."""


class Corrupt(StoreError, ValueError):
    """Data was read that this library did not write: a torn or foreign snapshot file, a broken frame."""


class Subscription(abc.ABC):
    """An ordered stream of hints and session events. It is bounded: an overflow drops the queued hints (session events
    stay) and queues one Resync per prefix. Use it from one thread at a time; `close` from any."""

    @abc.abstractmethod
    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:
        """Watch `prefix` too, in the same stream, which first gets a Resync(prefix, "initial")."""

    @abc.abstractmethod
    def remove(self, prefix: str) -> None:
        """Stop watching `prefix`. Hints that are queued may still arrive."""

    @abc.abstractmethod
    def poll(self, timeout_s: float) -> StoreEvent | None:
        """The next event, or None after `timeout_s` (0: do not wait) or once the stream was closed. Raises only Closed,
        once the store was closed."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the stream. Idempotent. A concurrent `poll` returns None."""


class MetadataStore(abc.ABC):
    """A client of a metadata store with one session. See the rules at the head of this module."""

    @property
    @abc.abstractmethod
    def capabilities(self) -> Capabilities:
        """The properties of this backend; constant for the life of the object."""

    @property
    @abc.abstractmethod
    def session(self) -> Session:
        """The current session. Never blocks."""

    @property
    @abc.abstractmethod
    def session_timeout_s(self) -> float:
        """After how many seconds without contact the server ends the session."""

    @abc.abstractmethod
    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """The entry, or None if the key does not exist. `sync=True` is linearizable."""

    @abc.abstractmethod
    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """One result per key, in order; not of one instant. As fast as the backend allows."""

    @abc.abstractmethod
    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        """`get_many` as parallel columns, for loads of hundreds of thousands of keys."""

    @abc.abstractmethod
    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """The names (single segments) directly below `key` ("/": the root) that are keys or lead to keys, sorted. See
        `Capabilities.parents_stay`."""

    @abc.abstractmethod
    def created_below(self, key: str, *, timeout_s: float) -> int:
        """How many keys were ever created directly below `key`, including deleted ones, if the backend counts them: the
        number of ZooKeeper's next sequential node there. 0 if it does not count, or the parent does not exist.
        Linearizable."""

    @abc.abstractmethod
    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """All keys below `prefix` ("/": all keys). `/dir2` is not below `/dir`."""

    @abc.abstractmethod
    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """Apply all ops or none. Without ops, nothing is sent. A key may be in one op only.

        Raises Conflict (nothing applied), TooLarge, Invalid and InvalidKey (before anything is sent), Unavailable and
        SessionExpired (certainly not applied), OutcomeUnknown (the ops may have been applied), Unauthorized, Closed.
        """

    @abc.abstractmethod
    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> Subscription:
        """Open a stream. Its first event is Resync(prefix, "initial"). Everything written after the call, or after the
        snapshot that gave `cursor`, is hinted. Never waits for the server, and works while the session is suspended:
        the first event arrives when the watch has begun. Raises Closed."""

    @abc.abstractmethod
    def another_session(self) -> MetadataStore:
        """A second client of the same server and root, with its own connection and session. Raises Unavailable if the
        server does not answer, Closed."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the session. Its ephemeral keys are deleted at once if the server can be reached, otherwise when the
        session times out. Idempotent, and never waits long. Later calls raise Closed; concurrent calls return their
        answer, or raise Closed or OutcomeUnknown."""
