"""What every kind of key defines, and what all kinds share.

* Reading: where its keys are and how they are watched, what a takeover loads, and which events follow from hints (paths
  that may have changed) and conflicts. Reads are made between batches, many keys at once.
* Writing: how many bytes a dirty key adds to a commit at most, its path, its content (encoded from the state), and what
  a commit of it changes in the state. Versions are kept in one table (`state.versions`).

A new kind of key is a class in a file of this package, a row in `table`, and a word in `kedge.controller.state.batch`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

import attrs

from ...stores.base import ABSENT, PRESENT, Check, Delete, Depth, Entry, MetadataStore, Op, Put, Version
from ...stores.checks import OP_BYTES_FIXED
from ...stores.recipes import TOKEN_KEY
from ..model.events import Event
from ..model.records import KeyAt
from ..model.values import Partition
from ..state import ClusterState
from .findings import Findings
from .unreadable import Unreadable

NAME_CHARACTERS_MAX: Final = 249  # of a topic
PATH_BYTES: Final = OP_BYTES_FIXED + 60  # of a key, without the name in it


def _one_by_one(read: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return ((part, read(part)) for part in parts)


@attrs.define(slots=False)
class KeyContext:
    """What all kinds of one term share. `seq`: the number of the commit being written. `hint`: have a path read again.
    `ahead`: yields each part with what was read for it, and may read the next part meanwhile. Methods that read raise
    the store's errors."""

    state: ClusterState
    store: MetadataStore
    elapsed_ms: Callable[[], int] = int
    topic_id: Callable[[], str] = str
    findings: Findings = attrs.field(factory=Findings)
    intents_seq_offset: int = 0
    parents_stay: bool = False
    seq: int = 0
    ahead: Callable[..., Iterator[tuple[Any, Any]]] = _one_by_one
    hint: Callable[[str], None] = attrs.field(init=False)

    @property
    def timeout_s(self) -> float:
        """For each read: a third of the session time, since a slower read is useless."""
        return self.store.session_timeout_s / 3

    def get(self, key: str) -> Entry | None:
        """The entry of a key, at least as new as our last commit."""
        return self.store.get(key, sync=True, timeout_s=self.timeout_s)

    def many(self, paths: Sequence[str]) -> list[Entry | None]:
        return self.store.get_many(paths, timeout_s=self.timeout_s) if paths else []

    def current(self, paths: Sequence[str]) -> list[Entry | None]:
        """The entries of `paths`, at least as new as our last commit (ZooKeeper: `sync`)."""
        if paths:
            self.get(TOKEN_KEY)
        return self.many(paths)

    def children(self, above: str) -> list[str]:
        """The paths of all keys directly below `above`."""
        return [f"{above}/{name}" for name in self.store.children(above, timeout_s=self.timeout_s)]

    def below(self, above: str) -> Iterator[tuple[str, Entry]]:
        """Name and entry of all keys directly below `above`."""
        return read_children(self.store, above, self.timeout_s)

    def columns(self, paths: Sequence[str]) -> Iterator[tuple[KeyAt, bytes | None]]:
        """Each of `paths` as it was read, and its value."""
        found = self.store.get_columns(paths, timeout_s=self.timeout_s) if paths else None
        for path, value, version in zip(paths, found.values, found.versions, strict=True) if found else ():
            yield KeyAt(path, 0 if value is None else version), value

    @property
    def intents_seq(self) -> int:
        """The number in the key of new intents: the commit's, raised above all numbers found by the takeover, in case
        the token and its count were removed."""
        return self.seq + self.intents_seq_offset

    def row(self, number: int) -> Partition:
        """The partition with this number, also if this batch purges it."""
        partition = self.state.rows[number] or self.state.reducing.purged.get(number)
        assert partition is not None
        return partition


class Gone(enum.Enum):
    """Stands for the content of a key that is deleted, or checked to be absent."""

    GONE = "gone"


GONE: Final = Gone.GONE
Content: TypeAlias = bytes | Literal[Gone.GONE] | None
"""What a key is to hold. None: there is nothing to write."""


def op_of(key: str, content: Content, version: int) -> Op | None:
    """The op that writes `content`, if the key still has `version` (0: is absent)."""
    if content is None:
        return None
    if content is GONE:
        return Delete(key, Version(version)) if version else Check(key, ABSENT)
    return Put(key, content, Version(version) if version else ABSENT)


def at_of(key: str, entry: Entry | None) -> KeyAt:
    return KeyAt(key, 0 if entry is None else entry.version)


def read_children(store: MetadataStore, above: str, timeout_s: float) -> Iterator[tuple[str, Entry]]:
    """Name and entry of all keys directly below `above`."""
    names = store.children(above, timeout_s=timeout_s)
    entries = store.get_many([f"{above}/{name}" for name in names], timeout_s=timeout_s)
    return ((name, entry) for name, entry in zip(names, entries, strict=True) if entry is not None)


def name_of(path: str) -> str:
    """The last segment of a path."""
    return path.rpartition("/")[2]


class KeyKind:
    """One kind of key. `name`: the first word of its dirty keys; a `key_id` identifies one of them. `roots`: where its
    keys are, at or directly below, and how they are watched. `read_event`: the event that holds the content of such a
    key, and its field that is the key id. `unreadable`: what an unreadable key means. `hinted`: paths to read again; a
    root stands for all keys below it."""

    name: ClassVar[str]
    unreadable: ClassVar[tuple[Unreadable, ...]] = ()
    path: Callable[[Any], str] = staticmethod(str)
    roots: ClassVar[tuple[tuple[str, Depth | None], ...]] = ()
    read_event: ClassVar[tuple[type[Event], str] | None] = None

    def __init__(self, context: KeyContext) -> None:
        self.context = context
        self.state = context.state
        self.hinted: dict[str, None] = {}

    # --- read

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        """Load all of its keys into the state of a new term; return the events to decide."""
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """The events for what changed under the hinted paths."""
        return []

    def named(self, paths: Collection[str]) -> dict[str, None]:
        """The keys that `paths` stand for: a root with keys below it stands for all that exist now."""
        parents = [root for root, depth in self.roots if depth is not Depth.SELF]
        found = dict.fromkeys(path for path in paths if path not in parents)
        for root in (root for root in parents if root in paths):
            found |= dict.fromkeys(self.context.children(root))
        return found

    def reread(self, key_ids: Sequence[Any], now_ms: int) -> list[Event]:  # noqa: ARG002
        """The events for keys that another program wrote. Small keys are simply overwritten, whatever they hold: their
        versions are adopted here, and there is no event."""
        paths = [self.key(key_id) for key_id in key_ids]
        for path, entry in zip(paths, self.context.current(paths), strict=True):
            self.state.versions.put(path, at_of(path, entry).version)
        return []

    def key_id_of(self, event: Any) -> object:
        """The `key_id` of an event of `read_event`; None if the key is not known."""
        return getattr(event, self.read_event[1]) if self.read_event else None

    # --- written

    def cost_max(self, key_id: Any) -> int:  # noqa: ARG002 - the content is counted separately, or small
        """An upper bound of the bytes that it adds to a commit."""
        return PATH_BYTES + NAME_CHARACTERS_MAX

    def key(self, key_id: Any) -> str:
        return self.path(key_id)

    def content(self, key_id: Any) -> Content:
        """What the key is to hold, from the state."""
        raise NotImplementedError

    def op(self, key_id: Any, key: str) -> Op | None:
        """The op to write; None if there is nothing to write."""
        return op_of(key, self.content(key_id), self.state.versions.of(key))

    def committed(self, key_id: Any, key: str, version: int) -> None:  # noqa: ARG002
        """A commit left the key at `version` (0: absent)."""
        self.state.versions.put(key, version)


class UnversionedKeys(KeyKind):
    """Keys that are deleted without being read, at whatever version, unless a conflict shows that they are absent."""

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        self._absent: set[str] = set()

    def reread(self, key_ids: Sequence[Any], now_ms: int) -> list[Event]:  # noqa: ARG002
        self._absent.update(map(self.key, key_ids))
        return []

    def op(self, key_id: Any, key: str) -> Op | None:  # noqa: ARG002
        if key in self._absent:
            self._absent.discard(key)
            return None
        return Delete(key, PRESENT)

    def committed(self, key_id: Any, key: str, version: int) -> None:
        """No version was known."""
