"""What every kind of key says of its keys, and what all kinds share.

* Read: where its keys are found and how they are watched, what a takeover loads of them, and which events hints (paths
  at which something may have changed) and conflicts become. Reads are made between batches and by many keys at once.
* Written: what a dirty key may add to a commit at most, its path, what is written for it (encoded from the state; None:
  there is nothing to write), and where the key stands once the commit was applied.

A new kind of key is a class in a file of this package, a row in `table`, and a word in `controller.state.batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar, Final

import attrs

from controller.keys.findings import Findings
from controller.keys.unreadable import Unreadable
from controller.model.events import Event
from controller.model.records import UNREAD
from controller.model.values import Partition
from controller.state import ClusterState
from stores.base import ABSENT, Check, Delete, Depth, Entry, Expect, MetadataStore, Op, Version
from stores.checks import OP_BYTES_FIXED
from stores.recipes import TOKEN_KEY

NAME_CHARACTERS_MAX: Final = 249  # of a topic
PATH_BYTES: Final = OP_BYTES_FIXED + 60  # of a key, but for the name in it


def _one_by_one(read: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return ((part, read(part)) for part in parts)


@attrs.define(slots=False)
class Ground:
    """What all kinds of one term share. `found`: small keys that stand otherwise than the state knows, by their path.
    `seq`: the number of the commit that is written. `hint`: look again at this path. `ahead`: gives each part with what
    was read for it, and may read the next one meanwhile. What reads raises what the store raises."""

    state: ClusterState
    store: MetadataStore
    elapsed_ms: Callable[[], int] = int
    topic_id: Callable[[], str] = str
    findings: Findings = attrs.field(factory=Findings)
    intents_seq_offset: int = 0
    parents_stay: bool = False
    found: dict[str, Version | None] = attrs.field(factory=dict)
    seq: int = 0
    ahead: Callable[..., Iterator[tuple[Any, Any]]] = _one_by_one
    hint: Callable[[str], None] = attrs.field(init=False)

    @property
    def timeout_s(self) -> float:
        """For each read: one that takes longer than a third of the session time says nothing any more."""
        return self.store.session_timeout_s / 3

    def get(self, key: str) -> Entry | None:
        """What stands there, at least as our last commit left it."""
        return self.store.get(key, sync=True, timeout_s=self.timeout_s)

    def many(self, paths: Sequence[str]) -> list[Entry | None]:
        """What stands under `paths`."""
        return self.store.get_many(paths, timeout_s=self.timeout_s) if paths else []

    def current(self, paths: Sequence[str]) -> list[Entry | None]:
        """What stands under `paths`, at least as our last commit left it (ZooKeeper: `sync`)."""
        if paths:
            self.get(TOKEN_KEY)
        return self.many(paths)

    def children(self, above: str) -> list[str]:
        """The path of every key directly below `above`."""
        return [f"{above}/{name}" for name in self.store.children(above, timeout_s=self.timeout_s)]

    def below(self, above: str) -> Iterator[tuple[str, Entry]]:
        """Name and entry of every key directly below `above`."""
        return read_children(self.store, above, self.timeout_s)

    def columns(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | None, int]]:
        """Path, value and version (0: absent) of each of `paths`."""
        found = self.store.get_columns(paths, timeout_s=self.timeout_s) if paths else None
        for path, value, version in zip(paths, found.values, found.versions, strict=True) if found else ():
            yield path, value, 0 if value is None else version

    def at(self, key: str, version: int) -> Expect:
        """Where a small key stands, that the state knows at `version`."""
        if key in self.found:
            found = self.found[key]
            return ABSENT if found is None else expect(found)
        return expect(version)

    def is_gone(self, key: str, version: int) -> bool:
        """Whether somebody else removed the key that the state knows at `version`."""
        return self.found.get(key, version) is None

    @property
    def intents_seq(self) -> int:
        """The number in the key of new intents: the commit's; above all that were found, if somebody removed the
        token and with it the count."""
        return self.seq + self.intents_seq_offset

    def row(self, number: int) -> Partition:
        """The partition with this number, also of one that this batch purged."""
        partition = self.state.rows[number] or self.state.reducing.purged.get(number)
        assert partition is not None
        return partition


def expect(version: int) -> Expect:
    """What may not be read stands at no version: to write it is a conflict as long as it is there."""
    return Version(version) if version and version != UNREAD else ABSENT


def gone(key: str, where: Expect) -> Op:
    """The key is removed, or is held not to be there."""
    return Check(key, ABSENT) if where is ABSENT else Delete(key, where)


def read_children(store: MetadataStore, above: str, timeout_s: float) -> Iterator[tuple[str, Entry]]:
    """Name and entry of every key directly below `above`."""
    names = store.children(above, timeout_s=timeout_s)
    entries = store.get_many([f"{above}/{name}" for name in names], timeout_s=timeout_s)
    return ((name, entry) for name, entry in zip(names, entries, strict=True) if entry is not None)


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


class KeyKind:
    """One kind of key. `of`: what a dirty key says beside its kind, `dirty`. `roots`: its keys stand there or directly
    below, and how they are watched. `told`: the event that says what such a key holds, and which field of it is `of`.
    `unreadable`: what it means where one cannot be read. `hinted`: paths to look at again; a root stands for all keys
    below it."""

    dirty: ClassVar[str]
    unreadable: ClassVar[tuple[Unreadable, ...]] = ()
    path: Callable[[Any], str] = staticmethod(str)
    roots: ClassVar[tuple[tuple[str, Depth | None], ...]] = ()
    told: ClassVar[tuple[type[Event], str] | None] = None

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.state = ground.state
        self.hinted: dict[str, None] = {}

    # --- read

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        """Take all of its keys into the state of a term that begins; what there is to do for them."""
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """What is news under the hinted paths."""
        return []

    def named(self, paths: Collection[str]) -> dict[str, None]:
        """The keys that `paths` stand for: a root with keys below it for all that are there now."""
        parents = [root for root, depth in self.roots if depth is not Depth.SELF]
        found = dict.fromkeys(path for path in paths if path not in parents)
        for root in (root for root in parents if root in paths):
            found |= dict.fromkeys(self.ground.children(root))
        return found

    def reread(self, ofs: Sequence[Any], now_ms: int) -> list[Event]:  # noqa: ARG002
        """What keys hold that somebody else wrote. Of small keys that are only written over the version is read: no
        event."""
        paths = [self.key(of) for of in ofs]
        for path, entry in zip(paths, self.ground.current(paths), strict=True):
            self.ground.found[path] = None if entry is None else entry.version
        return []

    def told_of(self, event: Any) -> object:
        """The `of` of an event of `told`; None: of no key that is known."""
        return getattr(event, self.told[1]) if self.told else None

    def is_altered(self, of: Any) -> bool:  # noqa: ARG002
        """Whether the key holds what somebody may have changed, so that what we make of it is decided anew, though we
        write all of it."""
        return False

    # --- written

    def cost_max(self, of: Any) -> int:  # noqa: ARG002 - what it holds adds its own bytes, or is a few
        """An upper bound of the bytes that it adds to a commit."""
        return PATH_BYTES + NAME_CHARACTERS_MAX

    def key(self, of: Any) -> str:
        """The path."""
        return self.path(of)

    def op(self, of: Any, key: str) -> Op | None:
        """What is written."""
        raise NotImplementedError

    def stands(self, of: Any, version: int) -> None:
        """The commit left the key at `version`; 0: it is absent. Not all are remembered."""
