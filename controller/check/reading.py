"""Builds the tree from entries, and the findings for what cannot be read.

The kinds of keys load it, as at a takeover, from a memory store that holds the entries. They only say that a key cannot
be read, so it is decoded once more by the table of known keys, which says what was expected and what was got.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ...stores.base import Corrupt, Entry
from ...stores.checks import below, parent
from ...stores.memory import MemoryServer, MemoryStore
from ...stores.memory.table import Touched
from ..codec import keys, partition_state
from ..codec.names import is_topic
from ..codec.text import EACH_ONCE, SOME_BROKERS, BadValue, fields, parse
from ..codec.topic import WITHOUT_HOLES
from ..keys.base import KeyContext
from ..keys.brokers import RegistrationKeys
from ..keys.table import KeyKinds
from ..model.values import Settings
from ..rules.topics import VALUE_BYTES_MAX
from ..state import ClusterState
from .findings import Finding, find
from .known import KNOWN, KnownKey, known_key
from .tree import Tree

NEAR_BYTES: Final = VALUE_BYTES_MAX * 4 // 5

_TOPS: Final = frozenset({"/admin", "/brokers", "/cluster", "/config", "/kedge"})
_PARTS_OF: Final = (keys.TOPICS, keys.REPLICA_DELETIONS, "/consumers", "/kafka-acl", "/kafka-acl-extended")
_PARENTS: Final = frozenset(
    {*_TOPS, *(key.partition("/*")[0] for key in KNOWN)}
    | {"/consumers", "/kafka-acl-extended-changes", "/delegation_token"}
)

# A partition at rest, as Kafka and Kedge write it: no JSON needs to be parsed to find its epoch.
_AT_REST: Final = re.compile(
    rb'\{"controller_epoch":(\d{1,9}),"leader":-?\d+,"version":1,"leader_epoch":\d+,"isr":\[[\d,]+\]\}'
)

StateEntry = tuple[str, int, Entry]


def read(entries: Iterable[Entry]) -> tuple[Tree, list[Finding]]:
    """The tree, and findings for what could not be read into it. Raises nothing, whatever the entries are."""
    states, others = list[StateEntry](), list[Entry]()
    for entry in entries:
        place = keys.partition_of(entry.key)
        if place is not None and is_topic(place[0]):
            states.append((*place, entry))
        else:
            others.append(entry)
    tree = _load(states, others)
    findings = [finding for entry in others for finding in _take(tree, entry)]
    findings += [finding for state in states for finding in _take_state(tree, *state)]
    tree.keys = len(states) + len(others)
    tree.sizes = {e.key: len(e.value) for e in (*others, *(s[2] for s in states)) if len(e.value) > NEAR_BYTES}
    return tree, findings


def _load(states: Iterable[StateEntry], others: Iterable[Entry]) -> Tree:
    server = MemoryServer()
    for entry in others:
        server.table.create(entry.key, _row(entry), Touched())
    for _, _, entry in states:
        server.table.rows[entry.key] = _row(entry)  # read by path alone: no index of names is needed
    kinds = KeyKinds(KeyContext(ClusterState(0, 0, Settings()), MemoryStore(server)))
    for kind in kinds:
        kind.load(now_ms=0)
    return Tree(kinds.state, kinds.one(RegistrationKeys).brokers)


def _row(entry: Entry) -> tuple[bytes, int, int, int, int | None]:
    return entry.value, entry.version, entry.generation, entry.created, entry.owner


def _take(tree: Tree, entry: Entry) -> Iterator[Finding]:
    key, known = entry.key, known_key(entry.key)
    if known is None:
        if _is_state_path(key):
            yield find("bad-name", key, "the path has no topic name or no partition number")
        elif entry.value not in (b"", b"null") or not _may_be_empty(key):
            tree.unknown[_prefix(key)] += 1
        return
    try:
        for check, part in zip(reversed(known.names), reversed(key.split("/")), strict=False):
            check(part)
    except BadValue as error:
        yield find("bad-name", key, str(error))
        return
    try:
        yield from _take_value(tree, known, entry)
    except (Corrupt, ValueError, TypeError) as error:
        yield _unreadable(key, error)


def _take_value(tree: Tree, known: KnownKey, entry: Entry) -> tuple[Finding, ...]:
    key, value = entry.key, entry.value
    if parent(key) != keys.TOPICS:
        tree.entries[key] = entry
        tree.values[key] = known.decode(value)
    elif key.rpartition("/")[2] not in tree.state.topics:
        known.decode(value)
    return _version(key, parse(value), known.version_max) if known.version_max and value else ()


def _is_state_path(key: str) -> bool:
    parts = key.split("/")
    return len(parts) == 7 and key.startswith(keys.TOPICS + "/") and parts[4] == "partitions" and parts[6] == "state"


def _may_be_empty(key: str) -> bool:
    """Whether the key may be a parent of known keys, which has an empty value in ZooKeeper."""
    return key in _PARENTS or any(key.startswith(below(top)) for top in _PARTS_OF)


def _prefix(key: str) -> str:
    """The prefix by which an unknown key is counted: its first segment, or two where the first is known."""
    parts = key.split("/")
    return "/".join(parts[:3]) if len(parts) > 3 and f"/{parts[1]}" in _TOPS else "/".join(parts[:2])


def _take_state(tree: Tree, topic: str, number: int, entry: Entry) -> Iterator[Finding]:
    """What the state does not hold of a state key: its epoch and version, and everything if no topic lists it."""
    key, is_listed = entry.key, tree.state.number(topic, number) is not None
    is_loaded = is_listed and tree.state.unreadable(topic, number) is None
    at_rest = _AT_REST.fullmatch(entry.value) if is_loaded else None
    if at_rest is not None:
        tree.epochs[key] = int(at_rest[1])
        return
    try:
        raw = fields(parse(entry.value), "value")
        partition = None if is_loaded else partition_state.decode(raw, topic, number, (), 0)
    except BadValue as error:
        partition = None
        yield _unreadable(key, error)
    else:
        tree.epochs[key] = raw.get("controller_epoch")
        if raw.get("reassignment") is not None and raw.get("targetReplicas") in (None, []):
            tree.orphan_blocks.append(key)
        yield from _version(key, raw, 1)
    if not is_listed:
        tree.unlisted.setdefault(topic, {})[number] = partition


def _version(key: str, raw: object, version_max: int) -> tuple[Finding, ...]:
    version = raw.get("version", 1) if type(raw) is dict else 1
    if type(version) is int and 1 <= version <= version_max:
        return ()
    return (find("unknown-version", key, "version", f"1..{version_max}", version),)


def _unreadable(key: str, error: Exception) -> Finding:
    if not isinstance(error, BadValue) or not error.expected:
        return find("unreadable", key, str(error))
    where = error.where or "value"
    return find(_kind(error), key, f"{where:.120}", error.expected, error.got)


def _kind(error: BadValue) -> str:
    if error.expected == WITHOUT_HOLES:
        return "partition-hole"
    if error.expected == EACH_ONCE:
        return "duplicate-broker"
    return "empty-list" if error.got == [] and error.expected == SOME_BROKERS else "unreadable"
