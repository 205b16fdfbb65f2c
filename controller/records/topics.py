"""Records about topics: created, expanded, found, changed, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from ..codec.journal_text import dump, lists, moves, topic
from ..codec.keys import topic_config
from ..model.records import KeyVersions, Record
from ..model.sensitive_configs import shown
from ..model.values import TOPICS, Partition, Replicas, Topic, without_state
from ..state import ClusterState, DirtyKey
from ..state.columns import PartitionColumns
from .line import LineContext
from .publication import Publication


@attrs.define
class TopicCreated(Record):
    """A topic exists: its key, its configs, and R of each partition. State keys follow. Its commit fails if the
    deletion of a topic of this name is requested."""

    EVENTS = ("TopicCreated",)

    topic: Topic
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = attrs.field(factory=dict)

    def apply(self, state: ClusterState) -> None:
        row = state.add_topic(self.topic, dict(self.configs))
        row.is_new = True
        for partition, replicas in enumerate(self.assignments):
            state.add_partition(row, without_state(self.topic.name, partition, replicas))
        state.batch.undone_by(_drop_topic, state, self.topic.name)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        """Includes the keys that request a deletion or a reduction: they are checked to be absent, or deleted, so that
        a request about a former topic never applies to this one."""
        name = self.topic.name
        return ("config", name), ("topic", name), ("deletion", name), ("reduction", name)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail = f'{{"assignments":{lists(self.assignments)},"configs":{dump(shown(TOPICS, self.configs))}}}'
        yield context.line("TopicCreated", _named(self.topic), detail)

    def publish(self, to: Publication, token: object) -> None:
        """Also if it has no configs: the host may still have those of a former topic."""
        to.configs(TOPICS, self.topic.name, self.configs)


@attrs.define
class PartitionsAdded(Record):
    """Partitions `first`, `first + 1`, ... of a topic exist. State keys follow."""

    EVENTS = ("PartitionsAdded",)

    topic: Topic
    first: int
    assignments: tuple[Replicas, ...]

    def apply(self, state: ClusterState) -> None:
        row = state.topics[self.topic.name]
        for partition, replicas in enumerate(self.assignments, self.first):
            state.add_partition(row, without_state(self.topic.name, partition, replicas))
        state.batch.undone_by(_drop_partitions, state, self.topic.name, len(self.assignments))

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("topic", self.topic.name),)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail = f'{{"first":{self.first},"assignments":{lists(self.assignments)}}}'
        yield context.line("PartitionsAdded", _named(self.topic), detail)


@attrs.define
class TopicFound(Record):
    """An unknown topic was found in the store, with these partitions (in the order of their ids). In the journal:
    ForeignChange, with R of each partition and the running moves."""

    EVENTS = ("ForeignChange",)

    topic: Topic
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]
    versions: KeyVersions

    def apply(self, state: ClusterState) -> None:
        state.load_topic(self.topic, PartitionColumns.of(self.partitions), self.configs, self.versions)
        state.batch.undone_by(_drop_topic, state, self.topic.name)

    def lines(self, context: LineContext) -> Iterable[str]:
        replicas = lists(p.replicas for p in self.partitions)
        epochs = {p.partition: at for p, at in zip(self.partitions, self.versions.generations, strict=True)}
        moving = [p for p in self.partitions if p.move is not None]
        running = moves(moving, lambda _: self.topic.topic_id, lambda p: epochs[p.partition])
        configs = dump(shown(TOPICS, self.configs))
        detail = f'{{"what":"topic found","assignments":{replicas},"configs":{configs},"moves":{running}}}'
        yield context.line("ForeignChange", _named(self.topic), detail)

    def publish(self, to: Publication, token: object) -> None:
        name = self.topic.name
        for number, partition in zip(to.state.topics[name].numbers, self.partitions, strict=False):
            to.partition(number, must_obey=True)
            to.moving(partition)
        to.read_key(topic_config(name))  # it may have changed since it was read
        to.read_requests()
        to.configs(TOPICS, name, self.configs)


@attrs.define
class TopicChanged(Record):
    """Fields of a topic's key other than its partitions changed. `ours`: this controller changed them (a topic_id, or a
    move that Kafka began), which only writes the key again; otherwise another program did."""

    EVENTS = ("ForeignChange", "KeysRewritten")

    after: Topic
    cause: str
    ours: bool = False

    def apply(self, state: ClusterState) -> None:
        state.batch.set(state.topics[self.after.name], "topic", self.after)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("topic", self.after.name),)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("KeysRewritten" if self.ours else "ForeignChange", _named(self.after), cause=self.cause)


@attrs.define
class KeysRewritten(Record):
    """A topic's key is written again, with the R that has grown meanwhile."""

    EVENTS = ("KeysRewritten",)

    topic: str

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("topic", self.topic),)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("KeysRewritten", context.topic(self.topic))


# --- topics that are deleted


@attrs.define
class TopicDeletionStarted(Record):
    """The deletion of a topic began. This commit writes its key under /admin/delete_topics, unless it is there."""

    EVENTS = ("TopicDeletionStarted",)

    topic: Topic

    def apply(self, state: ClusterState) -> None:
        state.start_deletion(self.topic.name)
        state.batch.undone_by(state.deletions.pop, self.topic.name)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("deletion", self.topic.name),)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("TopicDeletionStarted", _named(self.topic))

    def publish(self, to: Publication, token: object) -> None:
        to.deletion_started(self.topic.name, self.topic.topic_id)


@attrs.define
class TopicDeleted(Record):
    """Nothing of a topic remains: its key, its configs and the key under /admin/delete_topics are deleted."""

    EVENTS = ("TopicDeleted",)

    topic: Topic

    def apply(self, state: ClusterState) -> bool:
        """Returns whether it had a reduction."""
        name = self.topic.name
        is_reduced = name in state.reducing.of
        if is_reduced:
            state.batch.take(state.reducing.of, name)
        state.batch.undone_by(state.undelete_topic, state.delete_topic(name))
        return is_reduced

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        """In the order in which they are deleted."""
        name = self.topic.name
        reduction: list[DirtyKey] = [("reduction", name)] if token else []
        return [("parent", (name, None)), ("topic", name), ("config", name), *reduction, ("deletion", name)]

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("TopicDeleted", _named(self.topic))

    def publish(self, to: Publication, token: object) -> None:
        to.configs(TOPICS, self.topic.name, {})


@attrs.define
class DeletionKeyLost(Record):
    """Another program removed the key under /admin/delete_topics of a topic that is being deleted: it is written again.
    Not in the journal."""

    topic: str

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("deletion", self.topic),)


@attrs.define
class DeletionRefused(Record):
    """A key under /admin/delete_topics is removed, because the topic does not exist or may not be deleted. In the
    journal: ForeignChange."""

    EVENTS = ("ForeignChange",)

    topic: str
    detail: str

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("deletion", self.topic),)

    def lines(self, context: LineContext) -> Iterable[str]:
        what = f"/admin/delete_topics: {self.detail}; removed"
        yield context.line("ForeignChange", topic(self.topic, None), dump({"what": what}))


def _named(of: Topic) -> str:
    return topic(of.name, of.topic_id)


def _drop_topic(state: ClusterState, name: str) -> None:
    _drop_partitions(state, name, state.partition_count(name))
    state.remove_topic(name)


def _drop_partitions(state: ClusterState, name: str, count: int) -> None:
    row = state.topics[name]
    for _ in range(count):
        state.remove_last_partition(row)
