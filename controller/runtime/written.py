"""The kinds of keys that a controller writes: a table by the kind of the mark.

Each kind says of a mark what it may add to a commit at most, which key it names, what is written for it (encoded from
the state; None: there is nothing to write), and where the key stands once the commit was applied. A new kind of key is
a class here, a row in `kinds_of`, and a word in `controller.state.batch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import attrs

from controller.codec import keys, legacy, orders, partition_state, small
from controller.codec import topic as topic_codec
from controller.model.records import UNREAD
from controller.model.values import LEADER_DURING_DELETE, Partition, Replicas
from controller.runtime.written_settings import BrokerConfigKeys, ChangeKeys, OldChangeKeys
from controller.runtime.written_throttles import ThrottleMarks
from controller.state import ClusterState
from controller.state.intents import KeyId
from controller.state.rows import TopicRow
from stores.base import ABSENT, PRESENT, Check, Delete, Expect, Op, Put, Version
from stores.checks import OP_BYTES_FIXED

NAME_CHARACTERS_MAX: Final = 249  # of a topic
_PATH: Final = OP_BYTES_FIXED + 60  # of a key, but for the name in it
STATE_KEY_BYTES_MAX: Final = _PATH + partition_state.FIXED_BYTES_MAX  # but for names, ids and fields of others


class Kind(Protocol):
    """One kind of key. `of`: what the mark says beside its kind."""

    def cost_max(self, of: Any) -> int:
        """An upper bound of the bytes that the mark adds to a commit."""

    def key(self, of: Any, seq: int) -> str:
        """The path, in a commit with number `seq`."""

    def op(self, of: Any, key: str) -> Op | None: ...

    def stands(self, of: Any, version: int, seq: int) -> None:
        """The commit `seq` left the key at `version`; 0: it is absent."""


@attrs.define
class Ground:
    """What all kinds share. `found`: small keys that stand otherwise than the state knows, by their path."""

    state: ClusterState
    intents_seq_offset: int
    parents_stay: bool
    found: dict[str, Version | None] = attrs.field(factory=dict)

    def at(self, key: str, version: int) -> Expect:
        """Where a small key stands, that the state knows at `version`."""
        if key in self.found:
            found = self.found[key]
            return ABSENT if found is None else expect(found)
        return expect(version)

    def is_gone(self, key: str, version: int) -> bool:
        """Whether somebody else removed the key that the state knows at `version`."""
        return self.found.get(key, version) is None

    def is_unread(self, key: str, version: int) -> bool:
        """Whether the key may not be read: then it is left as it is."""
        return self.found.get(key, version) == UNREAD

    def intents_seq(self, seq: int) -> int:
        """The number in the key of new intents: the commit's; above all that were found, if somebody removed the
        token and with it the count."""
        return seq + self.intents_seq_offset

    def row(self, number: int) -> Partition:
        """The partition with this number, also of one that this batch purged."""
        partition = self.state.rows[number] or self.state.reducing.purged.get(number)
        assert partition is not None
        return partition


def expect(version: int) -> Expect:
    """What may not be read stands at no version: to write it is a conflict as long as it is there."""
    return Version(version) if version and version != UNREAD else ABSENT


def _gone(key: str, where: Expect) -> Op:
    """The key is removed, or is held not to be there."""
    return Check(key, ABSENT) if where is ABSENT else Delete(key, where)


class _Kind:
    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.state = ground.state

    def cost_max(self, of: Any) -> int:  # noqa: ARG002 - what it holds adds its own bytes, or is a few
        return _PATH + NAME_CHARACTERS_MAX


class StateKeys(_Kind):
    """`of`: the number of a partition."""

    def cost_max(self, of: int) -> int:
        partition = self.ground.row(of)
        return _PATH + len(partition.topic) + partition_state.state_bytes_max(partition)

    def key(self, of: int, seq: int) -> str:  # noqa: ARG002
        partition = self.ground.row(of)
        return keys.state(partition.topic, partition.partition)

    def op(self, of: int, key: str) -> Op | None:
        partition, at = self.ground.row(of), expect(self.state.versions[of])
        if of in self.state.reducing.purged:
            return _gone(key, at)
        if not partition.has_state:
            return _gone(key, at) if partition.leader == LEADER_DURING_DELETE else None
        return Put(key, partition_state.encode(partition, self.state.controller_epoch), at)

    def stands(self, of: int, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.state_key_written(self.ground.row(of).topic, of, version)


class TopicKeys(_Kind):
    """`of`: the topic, which may have been deleted."""

    def cost_max(self, of: str) -> int:
        row = self.state.topics.get(of)
        if row is None:
            return _PATH + len(of)
        return _PATH + len(of) + topic_codec.topic_bytes_max(row.topic, self._assignments(row))

    def _assignments(self, row: TopicRow) -> list[Replicas]:
        """R of every partition, by id."""
        rows = self.state.rows
        return [p.replicas for number in row.numbers if (p := rows[number]) is not None]

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return keys.topic(of)

    def op(self, of: str, key: str) -> Op | None:
        row = self.state.topics.get(of)
        if row is not None:
            return Put(key, topic_codec.encode(row.topic, self._assignments(row)), expect(row.version))
        version = self.state.deletions[of].topic_version
        return _gone(key, expect(version)) if version else None

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.topic_key_stands(of, version)


class ConfigKeys(_Kind):
    """`of`: the topic, which may have been deleted."""

    def cost_max(self, of: str) -> int:
        row = self.state.topics.get(of)
        return _PATH + len(of) + (0 if row is None else len(small.encode_config(row.configs)))

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return keys.topic_config(of)

    def op(self, of: str, key: str) -> Op | None:
        row = self.state.topics.get(of)
        if row is None:
            version = self.state.deletions[of].config_version
            return None if self.ground.is_unread(key, version) else _gone(key, self.ground.at(key, version))
        return Put(key, small.encode_config(row.configs), self.ground.at(key, row.config_version))

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.config_stands(of, version)


class Deletions(_Kind):
    """That a topic is to be deleted. `of`: its name."""

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return keys.delete_topic(of)

    def op(self, of: str, key: str) -> Op | None:
        state = self.state
        deletion = state.deletions.get(of)
        if deletion is None:
            return _gone(key, expect(state.refused.get(of, 0)))
        if deletion.version == UNREAD:
            return None
        if of not in state.topics:
            return Delete(key, Version(deletion.version)) if deletion.version else None
        return None if deletion.version else Put(key, b"", expect(state.refused.get(of, 0)))

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.deletion_stands(of, version)


class Reductions(_Kind):
    """Which partitions of a topic go; without any the key goes, or of a new topic is held to be absent. `of`: the
    topic, which may have been deleted."""

    def cost_max(self, of: str) -> int:
        found = self.state.reducing.of.get(of)
        return _PATH + len(of) + (0 if found is None else orders.reduction_bytes_max(found.entries, found.extra))

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return keys.delete_partitions(of)

    def op(self, of: str, key: str) -> Op | None:
        found = self.state.reducing.of.get(of)
        if found is None:
            return Check(key, ABSENT)  # of a new topic
        if found.entries and of in self.state.topics:
            return Put(key, orders.encode_reduction(found.entries, found.extra), expect(found.version))
        return Delete(key, Version(found.version)) if found.version else None

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.reducing.stands(of, version)


class Parents(_Kind):
    """Nodes without data of a topic that was deleted, where the store keeps such. `of`: topic, partition (or None)."""

    def key(self, of: tuple[str, int | None], seq: int) -> str:  # noqa: ARG002
        name, partition = of
        return keys.partitions(name) if partition is None else keys.partition(name, partition)

    def op(self, of: tuple[str, int | None], key: str) -> Op | None:  # noqa: ARG002
        is_there = self.ground.found.pop(key, Version(1)) is not None
        return Delete(key, PRESENT) if self.ground.parents_stay and is_there else None

    def stands(self, of: tuple[str, int | None], version: int, seq: int) -> None:
        """Nobody asks."""


class Admissions(_Kind):
    """The last registration of a broker that was admitted. `of`: its id."""

    def key(self, of: int, seq: int) -> str:  # noqa: ARG002
        return keys.admitted(of)

    def op(self, of: int, key: str) -> Op | None:
        live, known = self.state.brokers.get(of), self.state.admitted.get(of)
        if live is None:
            return None  # it came and went within the batch: the next birth writes it
        if self.ground.is_unread(key, 0 if known is None else known.version):
            return None
        return Put(key, small.encode_admitted(live.epoch), self.ground.at(key, 0 if known is None else known.version))

    def stands(self, of: int, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.admission_stands(of, version)


class Forgotten(Admissions):
    """The same key, of a broker that is forgotten."""

    def op(self, of: int, key: str) -> Op | None:
        known = self.state.admitted.get(of)
        if known is None or of in self.state.brokers or self.ground.is_gone(key, known.version):
            return None  # it came again within the batch, or somebody else removed it
        if self.ground.is_unread(key, known.version):
            return Check(key, ABSENT)  # a conflict: it is not forgotten as long as its key is there
        return Delete(key, self.ground.at(key, known.version))

    def stands(self, of: int, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.admission_stands(of, 0)


class Unregistered(_Kind):
    """That a broker is not registered. `of`: its id."""

    def key(self, of: int, seq: int) -> str:  # noqa: ARG002
        return keys.broker(of)

    def op(self, of: int, key: str) -> Op | None:  # noqa: ARG002
        return Check(key, ABSENT)

    def stands(self, of: int, version: int, seq: int) -> None:
        """Nobody asks."""


class NewIntents(_Kind):
    """What a broker has to delete by this commit. `of`: its id. Each intent adds bytes of its own."""

    def key(self, of: int, seq: int) -> str:
        return keys.replica_deletions(of, self.ground.intents_seq(seq))

    def op(self, of: int, key: str) -> Op | None:
        waiting = self.state.intents.undurable(of)
        return Put(key, small.encode_intents(waiting), self.ground.at(key, 0)) if waiting else None

    def stands(self, of: int, version: int, seq: int) -> None:
        self.state.intents.durable(of, self.ground.intents_seq(seq), version)


class DoneIntents(_Kind):
    """A key of intents of which none is open. `of`: broker and number of the key."""

    def key(self, of: KeyId, seq: int) -> str:  # noqa: ARG002
        return keys.replica_deletions(*of)

    def op(self, of: KeyId, key: str) -> Op | None:
        known = self.state.intents.keys.get(of)
        if known is None or self.ground.is_gone(key, known.version):
            return None  # somebody else removed it
        return Delete(key, self.ground.at(key, known.version))

    def stands(self, of: KeyId, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.intents_are_gone(of)


class LegacyPlan(_Kind):
    """The entries in force; without any the key goes."""

    def cost_max(self, of: object) -> int:  # noqa: ARG002
        held = self.state.legacy
        return _PATH + legacy.bytes_max(held.entries.values(), held.key.extra)

    def key(self, of: object, seq: int) -> str:  # noqa: ARG002
        return keys.REASSIGN_PARTITIONS

    def op(self, of: object, key: str) -> Op | None:  # noqa: ARG002
        held = self.state.legacy
        version = held.key.version
        if version == UNREAD:
            return None
        if held.entries:
            return Put(key, legacy.encode(held.ordered(), held.key.extra, held.key.format), expect(version))
        return Delete(key, Version(version)) if version else None

    def stands(self, of: object, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.legacy.stands(version)


class ErrandKeys(_Kind):
    """An errand that goes. `of`: its path."""

    def cost_max(self, of: str) -> int:
        return OP_BYTES_FIXED + len(of)

    def key(self, of: str, seq: int) -> str:  # noqa: ARG002
        return of

    def op(self, of: str, key: str) -> Op | None:  # noqa: ARG002
        return Delete(key, Version(self.state.worked_off[key]))

    def stands(self, of: str, version: int, seq: int) -> None:  # noqa: ARG002
        self.state.errand_is_gone(of)


class Migrations(_Kind):
    """The marker of a move to this store, which goes. `of`: its version."""

    def key(self, of: int, seq: int) -> str:  # noqa: ARG002
        return keys.MIGRATION

    def op(self, of: int, key: str) -> Op | None:
        return None if self.ground.is_gone(key, of) else Delete(key, self.ground.at(key, of))

    def stands(self, of: int, version: int, seq: int) -> None:
        """Nobody asks."""


def kinds_of(ground: Ground) -> Mapping[str, Kind]:
    """The table."""
    return {
        "state": StateKeys(ground),
        "topic": TopicKeys(ground),
        "config": ConfigKeys(ground),
        "broker config": BrokerConfigKeys(ground),
        "change": ChangeKeys(ground),
        "old change": OldChangeKeys(ground),
        "deletion": Deletions(ground),
        "reduction": Reductions(ground),
        "parent": Parents(ground),
        "admitted": Admissions(ground),
        "forgotten": Forgotten(ground),
        "unregistered": Unregistered(ground),
        "intents": NewIntents(ground),
        "intents done": DoneIntents(ground),
        "legacy": LegacyPlan(ground),
        "throttles": ThrottleMarks(ground),
        "errand": ErrandKeys(ground),
        "migration": Migrations(ground),
    }
