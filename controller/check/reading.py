"""Builds the tree from entries, and the findings for what cannot be read.

State keys are read last and many at once, because R is in the topic key. A parent of known keys may have an empty
value, as in ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from ...stores.base import Corrupt, Entry
from ...stores.checks import below, parent
from ...stores.recipes import TOKEN_KEY
from ..codec import keys, partition_state
from ..codec.names import is_topic
from ..codec.text import EACH_ONCE, SOME_BROKERS, BadValue, parse, parse_many
from ..codec.topic import WITHOUT_HOLES, TopicKey
from ..rules.topics import VALUE_BYTES_MAX
from .findings import Finding, find
from .readers import CHILDREN, EXACT, GRANDCHILDREN, BadName, Reader
from .tree import State, Tree

NEAR_BYTES: Final = VALUE_BYTES_MAX * 4 // 5

_CHUNK: Final = 2000  # values parsed at once: a broken one among them makes all be parsed again, one by one

_TOPS: Final = frozenset({"/admin", "/brokers", "/cluster", "/config", "/kedge"})
_PARTS_OF: Final = (keys.TOPICS, keys.REPLICA_DELETIONS, "/consumers", "/kafka-acl", "/kafka-acl-extended")
_PARENTS: Final = frozenset(
    {*_TOPS, *CHILDREN, *GRANDCHILDREN, "/consumers", "/kafka-acl-extended-changes", "/delegation_token"}
)


def read(entries: Iterable[Entry]) -> tuple[Tree, list[Finding]]:
    """The tree, and findings for what could not be read into it. Raises nothing, whatever the entries are."""
    tree, findings, states = Tree(), list[Finding](), list[tuple[str, int, Entry]]()
    for entry in entries:
        tree.keys += 1
        if len(entry.value) > NEAR_BYTES:
            tree.sizes[entry.key] = len(entry.value)
        place = keys.partition_of(entry.key)
        if place is not None and is_topic(place[0]):
            states.append((*place, entry))
        else:
            findings += _take(tree, entry)
    states.sort(key=lambda found: found[:2])
    findings += _states(tree, states)
    return tree, findings


def _take(tree: Tree, entry: Entry) -> Iterator[Finding]:
    known = _known(entry.key)
    if known is None:
        if _is_state_path(entry.key):
            yield find("bad-name", entry.key, "the path has no topic name or no partition number")
        elif entry.value not in (b"", b"null") or not _may_be_empty(entry.key):
            tree.unknown[_prefix(entry.key)] += 1
        return
    reader, version_max = known
    tree.has_kedge_keys |= _is_of_leaders(entry.key)
    try:
        reader(tree, entry.key.rpartition("/")[2], entry)
        if version_max and entry.value:
            yield from _version(entry.key, parse(entry.value), version_max)
    except BadName as error:
        yield find("bad-name", entry.key, str(error))
    except (Corrupt, ValueError, TypeError) as error:
        yield _unreadable(entry.key, error)


def _is_of_leaders(key: str) -> bool:
    """Whether only a controller of Kedge that leads writes the key; the token is checked separately."""
    ours = key.startswith(("/kedge/", keys.REPLICA_DELETIONS + "/"))
    return ours and key != TOKEN_KEY and not key.startswith(keys.GATEWAYS)


def _known(key: str) -> tuple[Reader, int] | None:
    """The reader of the key, and the highest version that it may have (0: it has none)."""
    above = parent(key)
    return EXACT.get(key) or CHILDREN.get(above) or GRANDCHILDREN.get(parent(above))


def _is_state_path(key: str) -> bool:
    parts = key.split("/")
    return len(parts) == 7 and key.startswith(keys.TOPICS + "/") and parts[4] == "partitions" and parts[6] == "state"


def _may_be_empty(key: str) -> bool:
    return key in _PARENTS or any(key.startswith(below(top)) for top in _PARTS_OF)


def _prefix(key: str) -> str:
    """The prefix by which an unknown key is counted: its first segment, or two where the first is known."""
    parts = key.split("/")
    return "/".join(parts[:3]) if len(parts) > 3 and f"/{parts[1]}" in _TOPS else "/".join(parts[:2])


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


# --- state keys


def _states(tree: Tree, found: Sequence[tuple[str, int, Entry]]) -> list[Finding]:
    findings: list[Finding] = []
    remaining = iter(found)
    while chunk := tuple(islice(remaining, _CHUNK)):
        parsed = parse_many([entry.value for _, _, entry in chunk])
        for (name, number, entry), raw in zip(chunk, parsed, strict=True):
            of_topic = tree.states.setdefault(name, {})
            try:
                of_topic[number] = _state(tree.topics.get(name), name, number, entry.key, raw)
            except BadValue as error:
                of_topic[number] = None
                findings.append(_unreadable(entry.key, error))
            else:
                findings += _version(entry.key, raw, 1)
    return findings


def _state(of: TopicKey | None, name: str, number: int, key: str, raw: object) -> State:
    """The state key, with R if its topic lists the partition."""
    is_listed = of is not None and number < len(of.assignments)
    replicas = of.assignments[number] if of is not None and is_listed else ()
    if type(raw) is not dict:
        raise raw if isinstance(raw, BadValue) else _no_object(raw)
    partition = partition_state.decode(raw, name, number, replicas, 0)
    orphan = partition.move is None and raw.get("reassignment") is not None
    return State(key, partition, is_listed, raw.get("controller_epoch"), orphan)


def _no_object(raw: object) -> BadValue:
    return BadValue("no object", expected="a JSON object", got=raw)
