"""The committed state, updated with every commit of the server: partitions as values, with their history.

It is read from the ops themselves, so that every state that was ever in the store is seen, even if it was overwritten
within the same step. Decoded with `kedge.controller.codec`, as by any reader of the keys.
"""

from __future__ import annotations

import attrs

from ...stores.base import Check, Delete, Put
from ...stores.recipes import EPOCH_KEY, TOKEN_KEY, Token
from ..codec import BadValue, keys, partition_state, small, throttles
from ..codec import topic as topic_codec
from ..codec.orders import decode_retirements
from ..codec.text import parse
from ..model.reductions import Retirement
from ..model.values import DeleteIntent, Partition, Replicas, Topic, TopicPartition
from ..rules.leader_election import UNCLEAN
from ..rules.reduction.configs import RETENTION, RETENTION_DEFAULT
from ..simulated.timeline import Timeline
from .operators import MARKS
from .server import FOREIGN, Committed, RecordingServer


@attrs.frozen
class Change:
    """A partition was `before` (None: it had no state key) and is `after`, by the commit `by`. `partition_epoch`: that
    of before."""

    tp: TopicPartition
    before: Partition | None
    after: Partition
    by: Committed
    partition_epoch: int


@attrs.frozen
class Moment:
    """A partition as it was from `revision` on, with its partition epoch."""

    revision: int
    partition_epoch: int
    partition: Partition


class CommittedTree:
    """The store, decoded. `history`: the states of each partition, oldest first. `epoch_ends`: controller epoch -> the
    revision at which the next one began. `unreadable`: keys of topics and partitions that cannot be decoded at present;
    their former values stand in for them. `blind`: those that were unreadable when the present controller took over,
    and have not been mended since; `found_blind`: mended or not. `unclean_default`: unclean election was allowed for
    all topics at some time."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.topics: dict[str, topic_codec.TopicKey] = {}
        self.partitions: dict[TopicPartition, Partition] = {}
        self.partition_epochs: dict[TopicPartition, int] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.intents: dict[str, tuple[DeleteIntent, ...]] = {}
        self.history: dict[TopicPartition, list[Moment]] = {}
        self.controller_epoch = 0
        self.token: Token | None = None
        self.epoch_ends: dict[int, int] = {}
        self.foreign: set[TopicPartition] = set()  # partitions whose state key was last written by another program
        self.deleting: set[str] = set()
        self.doomed: set[str] = set()  # ids of topics whose deletion was requested
        self.retentions: dict[str, set[int]] = {}  # by topic, all values that were ever set
        self.retention_defaults: set[int] = set()  # for all topics, all values that were ever set
        self.reducing: dict[str, dict[int, Retirement]] = {}  # the keys of reductions, by topic
        self.reductions_lately: dict[str, dict[int, Retirement]] = {}  # with entries that another program removed
        self.deleted: list[str] = []  # names of topics whose key was deleted, in order
        self.unreadable: set[str] = set()
        self.blind: set[str] = set()
        self.found_blind: frozenset[str] = frozenset()
        self.unclean_default = False
        self.marked: dict[str, tuple[str, ...]] = {}  # the owners in each mark of throttles, by its key
        self.is_plan_news = False  # another program wrote the legacy key after a controller's write or takeover
        self.present: set[str] = set()  # keys that were made and not deleted since; those of sessions may have ended
        self._states: dict[TopicPartition, tuple[bytes, int]] = {}

    def load(self, server: RecordingServer) -> None:
        rows = sorted(server.table.rows.items())
        self.present = set(server.table.rows)
        for key, row in rows:
            if keys.partition_of(key) is not None:
                self._states[TopicPartition(*_of(key))] = (row[0], row[2])
            elif row[4] is None:
                self._take(key, row[0], server.revision)
        for name in self.topics:
            self._topic_partitions(name, server.revision)
        for key, row in rows:
            if key.startswith(keys.DELETE_TOPICS + "/"):
                self._take(key, row[0], server.revision)
        for name in self.reducing:
            self._reduction(name, is_foreign=False)
        server.take()

    def topic(self, name: str) -> Topic | None:
        """The topic, by its key; None where there is none."""
        found = self.topics.get(name)
        return None if found is None else found.topic

    def at(self, tp: TopicPartition, revision: int) -> Moment | None:
        return next((moment for moment in reversed(self.history.get(tp, [])) if moment.revision <= revision), None)

    def follow(self, commit: Committed) -> list[Change]:
        """Take in a commit; returns the changes of partitions."""
        touched: dict[TopicPartition, None] = {}
        for op in commit.ops:
            if isinstance(op, Put):
                self.present.add(op.key)
                self._put(op, touched, commit)
            elif isinstance(op, Delete):
                self.present.discard(op.key)
                self._delete(op.key)
            if op.key in {keys.REASSIGN_PARTITIONS, EPOCH_KEY} and not isinstance(op, Check):
                self.is_plan_news = commit.sender == FOREIGN
            if op.key.startswith(keys.DELETE_PARTITIONS + "/"):
                self._reduction(op.key.rpartition("/")[2], is_foreign=commit.sender == FOREIGN)
        changes = [self._changed(tp, commit) for tp in touched]
        said = "; ".join(_in_words(change) for change in changes if change is not None)
        others = [op.key for op in commit.ops if not isinstance(op, Put) or keys.partition_of(op.key) is None]
        self._timeline.say(commit.sender, f"commits {commit.revision}: {said} {' '.join(others)}".rstrip())
        return [change for change in changes if change is not None]

    def states_of(self, name: str) -> list[tuple[str, int]]:
        """The partitions of a topic that have a state key."""
        return [(tp.topic, tp.partition) for tp in self._states if tp.topic == name]

    def held_by_right(self, broker: int) -> set[tuple[str, int]]:
        """Topic id and partition of all that a broker is a member of and that are not being deleted."""
        return {
            (self.topics[tp.topic].topic.topic_id, tp.partition)
            for tp, partition in self.partitions.items()
            if broker in partition.members and tp.topic not in self.deleting and not partition.is_offline
        }

    def _delete(self, key: str) -> None:
        self._readable(key)
        self.intents.pop(key, None)
        self.configs.pop(key, None)
        self.marked.pop(key, None)
        of, name = keys.partition_of(key), keys.topic_of(key)
        if of is not None:
            tp = TopicPartition(*of)
            self._states.pop(tp, None)
            self.partitions.pop(tp, None)
            self.partition_epochs.pop(tp, None)
            self.foreign.discard(tp)
        elif name is not None:
            del self.topics[name]
            self.retentions.pop(name, None)
            self.deleted.append(name)
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            self.deleting.discard(key.rpartition("/")[2])
        elif key.startswith(keys.DELETE_PARTITIONS + "/"):
            self.reducing.pop(key.rpartition("/")[2], None)

    def _put(self, op: Put, touched: dict[TopicPartition, None], commit: Committed) -> None:
        if keys.partition_of(op.key) is not None:
            tp = TopicPartition(*_of(op.key))
            known = self._states.get(tp)
            self._states[tp] = (op.value, 0 if known is None else known[1] + 1)
            touched[tp] = None
            (self.foreign.add if commit.sender == FOREIGN else self.foreign.discard)(tp)
            return
        self._take(op.key, op.value, commit.revision)
        name = keys.topic_of(op.key)
        if name is not None and op.key not in self.unreadable:
            touched.update((TopicPartition(name, p), None) for p in range(len(self.topics[name].assignments)))

    def _take(self, key: str, value: bytes, revision: int) -> None:
        name = keys.topic_of(key)
        if name is not None:
            self._take_topic(key, name, value)
        elif key.startswith(keys.DELETE_PARTITIONS + "/"):
            self.reducing[key.rpartition("/")[2]] = _retirements(value)
        elif key.startswith(keys.CONFIG_TOPICS + "/"):
            self._take_config(key, small.decode_config(value))
        else:
            self._take_other(key, value, revision)

    def _take_config(self, key: str, config: dict[str, str]) -> None:
        self.configs[key] = config
        if RETENTION in config:
            self.retentions.setdefault(key.rpartition("/")[2], set()).add(int(config[RETENTION]))

    def _take_other(self, key: str, value: bytes, revision: int) -> None:
        if key == keys.BROKER_DEFAULTS:
            self._take_defaults(value)
        elif key.startswith(keys.REPLICA_DELETIONS + "/") and key.count("/") == 4:  # else a parent, in ZooKeeper
            self.intents[key] = small.decode_intents(value, int(key.split("/")[3]))
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            topic = key.rpartition("/")[2]
            if topic in self.topics:
                self.deleting.add(topic)
                self.doomed.add(self.topics[topic].topic.topic_id)
        elif key in MARKS:
            self.marked[key] = _marked(key, value)
        elif key == EPOCH_KEY:
            self.epoch_ends[self.controller_epoch] = revision - 1
            self.controller_epoch = int(value)
            self.blind = set(self.unreadable)
            self.found_blind = frozenset(self.unreadable)
        elif key == TOKEN_KEY:
            self.token = Token.decode(value)

    def _reduction(self, topic: str, *, is_foreign: bool) -> None:
        """A reduction that was begun continues, even if another program changes the key."""
        lately = self.reductions_lately.get(topic, {}) if is_foreign else {}
        said = self.reducing.get(topic, {})
        at_once = {p for entries in (lately, said) for p, one in entries.items() if one.immediate}
        merged = {**lately, **said}
        self.reductions_lately[topic] = {p: attrs.evolve(one, immediate=p in at_once) for p, one in merged.items()}

    def _take_defaults(self, value: bytes) -> None:
        try:
            said = small.decode_config(value)
        except BadValue:
            return
        self.unclean_default |= said.get(UNCLEAN) == "true"
        if RETENTION_DEFAULT in said:
            self.retention_defaults.add(int(said[RETENTION_DEFAULT]))

    def _take_topic(self, key: str, name: str, value: bytes) -> None:
        try:
            self.topics[name] = topic_codec.decode(value, name)
        except BadValue:
            self.unreadable.add(key)
        else:
            self._readable(key)

    def _readable(self, key: str) -> None:
        self.unreadable.discard(key)
        self.blind.discard(key)

    def _topic_partitions(self, name: str, revision: int) -> None:
        for number in range(len(self.topics[name].assignments)):
            self._decode(TopicPartition(name, number), revision)

    def _decode(self, tp: TopicPartition, revision: int) -> Partition | None:
        topic, state = self.topics.get(tp.topic), self._states.get(tp)
        if topic is None or state is None or tp.partition >= len(topic.assignments):
            return None
        replicas, key = topic.assignments[tp.partition], keys.state(tp.topic, tp.partition)
        try:
            partition = partition_state.decode(parse(state[0]), tp.topic, tp.partition, replicas, 0)
        except BadValue:
            self.unreadable.add(key)
            return None
        self._readable(key)
        if adding := topic.adding.get(tp.partition, ()):
            partition = _without(partition, adding)
        self.partitions[tp] = partition
        self.partition_epochs[tp] = state[1]
        self.history.setdefault(tp, []).append(Moment(revision, state[1], partition))
        return partition

    def _changed(self, tp: TopicPartition, commit: Committed) -> Change | None:
        before = self.partitions.get(tp)
        epoch = self.partition_epochs.get(tp)
        after = self._decode(tp, commit.revision)
        if after is None or (after == before and epoch == self.partition_epochs[tp]):
            if after is not None:
                self.history[tp].pop()
            return None
        return Change(tp, before, after, commit, -1 if epoch is None else epoch)


def _without(partition: Partition, adding: Replicas) -> Partition:
    """Kafka lists added brokers of a move among the replicas; in R they count once they are in the isr (KIP-455)."""
    there = tuple(b for b in partition.replicas if b not in adding or b in partition.isr)
    return attrs.evolve(partition, replicas=there)


def _of(key: str) -> tuple[str, int]:
    found = keys.partition_of(key)
    assert found is not None
    return found


def _in_words(change: Change) -> str:
    p = change.after
    move = "" if p.move is None else f" T {list(p.move.target)}"
    status = f" status {p.status_code}" if p.status_code else ""
    return f"{change.tp} R {list(p.replicas)} I {list(p.isr)}{move} leader {p.leader}/{p.leader_epoch}{status}"


def _marked(key: str, value: bytes) -> tuple[str, ...]:
    """The owners in a mark; other programs may write any value."""
    try:
        return tuple(throttles.decode("topics" if key == keys.REPLICAS_REMOVAL else "brokers", value)[0])
    except BadValue:
        return ()


def _retirements(value: bytes) -> dict[int, Retirement]:
    """The entries of a reduction; other programs may write any value."""
    try:
        return decode_retirements(value)
    except BadValue:
        return {}
