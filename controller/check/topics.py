"""Rules on topic keys and state keys: invariants 1, 2 and 8 of the design, and what a move or a death left over.

A topic that is being deleted loses its keys one by one and has no leaders: only what must hold at every moment is
checked. Liveness is not checked while no broker is registered: then the cluster does not run yet, or no longer.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...stores.recipes import EPOCH_KEY
from ..codec import keys
from ..model.values import LEADER_DURING_DELETE, NO_LEADER, Partition, TopicPartition
from .findings import Finding, find
from .tree import Tree


def _key(partition: Partition) -> str:
    return keys.state(partition.topic, partition.partition)


def topic_id_missing(tree: Tree) -> Iterator[Finding]:
    for name, row in tree.state.topics.items():
        if not row.topic.topic_id:
            yield find("topic-id-missing", keys.topic(name), "topic_id", "22 characters", "none", due=tree.is_led)


def topic_id_twice(tree: Tree) -> Iterator[Finding]:
    """An intent and a broker's log are identified by topic_id: two topics with the same one would share them."""
    names: dict[str, str] = {}
    for name in sorted(tree.state.topics):
        topic_id = tree.state.topics[name].topic.topic_id
        if topic_id and names.setdefault(topic_id, name) != name:
            yield find("topic-id-twice", keys.topic(name), f"topic_id {topic_id} is also that of {names[topic_id]}")


def kafka_move(tree: Tree) -> Iterator[Finding]:
    for name, row in tree.state.topics.items():
        for number, move in row.topic.kafka_moves.items():
            said = f"adding {list(move.adding)}, removing {list(move.removing)}"
            yield find("kafka-move", keys.topic(name), f"{TopicPartition(name, number)}: {said}")


def state_missing(tree: Tree) -> Iterator[Finding]:
    """A new partition gets its state key as soon as one of its brokers is alive, unless it is being removed."""
    state = tree.state
    if len(tree.partitions) == state.partition_total():
        return
    for p in state.partitions():
        if p.has_state or state.unreadable(p.topic, p.partition) is not None:
            continue
        if not tree.is_deleting(p.topic) and not tree.is_reduced(p.topic, p.partition):
            due = tree.is_led and not tree.registered.keys().isdisjoint(p.replicas)
            yield find("state-missing", _key(p), "the state key is missing", f"a leader of {list(p.replicas)}", due=due)


def orphan_state(tree: Tree) -> Iterator[Finding]:
    for name, numbers in tree.unlisted.items():
        count = tree.state.partition_count(name)
        if not tree.has_topic(name):
            what = f"{len(numbers)} state keys of a topic without a topic key"
            yield find("orphan-topic", keys.topic(name), what, "a topic key", "none")
        elif count:
            for number in numbers:
                expected = f"partitions 0..{count - 1}"
                yield find("orphan-state", keys.state(name, number), "not in the topic key", expected, number)


def isr_outside(tree: Tree) -> Iterator[Finding]:
    """Invariant 2: the isr is within R, or R and T while a move runs."""
    for p in tree.partitions:
        if p.isr is not p.replicas and not set(p.isr) <= set(p.members):
            yield find("isr-outside", _key(p), "isr", f"within {list(p.members)}", p.isr)


def leader_outside_isr(tree: Tree) -> Iterator[Finding]:
    """Invariant 1: the leader is in the isr, or there is none."""
    for p in tree.every_partition():
        if p.leader == LEADER_DURING_DELETE and tree.is_deleting(p.topic):
            continue
        if p.leader != NO_LEADER and p.leader not in p.isr:
            yield find("leader-outside-isr", _key(p), "leader", f"one of {list(p.isr)}, or {NO_LEADER}", p.leader)


def who_is_gone(tree: Tree) -> Iterator[Finding]:
    if not tree.registered:
        return
    live = tree.registered.keys()
    for p in tree.partitions:
        if (p.isr and p.leader in live and live >= set(p.isr)) or tree.is_deleting(p.topic) or p.is_offline:
            continue
        gone = [b for b in p.isr if b not in live and b != p.leader]
        if p.leader == NO_LEADER:
            yield _leaderless(tree, p, sorted(live & set(p.isr)))
        elif p.leader not in live:
            yield find("leader-gone", _key(p), f"the leader {p.leader} is not registered", due=tree.is_led)
        elif gone:
            yield find("isr-gone", _key(p), "members of the isr are not registered", "", gone, due=tree.is_led)


def _leaderless(tree: Tree, p: Partition, live: list[int]) -> Finding:
    if live:
        return find("no-leader", _key(p), "leader", f"one of {live}", NO_LEADER, due=tree.is_led)
    return find("offline", _key(p), "no member of the isr is registered", "", p.isr)


def unfinished_completion(tree: Tree) -> Iterator[Finding]:
    """All of T is in sync: only a controller, or a member of T that can lead, may still be missing."""
    for p in tree.state.moving():
        if p.move is not None and set(p.move.target) <= set(p.isr) and not tree.is_deleting(p.topic):
            due = tree.is_led and not tree.registered.keys().isdisjoint(p.move.target)
            what = f"targetReplicas {list(p.move.target)} are all in sync"
            yield find("unfinished-completion", _key(p), what, "no targetReplicas", p.move.target, due=due)


def orphan_reassignment(tree: Tree) -> Iterator[Finding]:
    for key in tree.orphan_blocks:
        yield find("orphan-reassignment", key, "reassignment", "none without targetReplicas", "one")


def recovering_isr(tree: Tree) -> Iterator[Finding]:
    """After an unclean election the isr grows only after the leader has reported its recovery (KIP-704)."""
    for p in tree.every_partition():
        if p.leader_recovery_state == 1 and len(p.isr) > 1:
            yield find("recovering-isr", _key(p), "isr of a recovering leader", f"[{p.leader}]", p.isr)


def retired_epoch(tree: Tree) -> Iterator[Finding]:
    """Invariant 8: a new partition with a retired id begins above the old epoch, so late messages are ignored."""
    for name, row in tree.state.topics.items():
        for number, epoch in row.topic.retired_epochs.items():
            p = tree.state.partition(name, number)
            if p is not None and p.has_state and p.leader_epoch <= epoch:
                yield find("retired-epoch", _key(p), "leader_epoch", f"above {epoch}", p.leader_epoch)


def state_epoch(tree: Tree) -> Iterator[Finding]:
    """Invariant 5: no key has a controller epoch that does not exist yet."""
    epoch_max = tree.values.get(EPOCH_KEY)
    for key, epoch in tree.epochs.items():
        if type(epoch) is not int or epoch < 0 or (epoch_max is not None and epoch > epoch_max):
            expected = "a whole number" if epoch_max is None else f"a whole number within 0..{epoch_max}"
            yield find("state-epoch", key, "controller_epoch", expected, epoch)


def status_without_order(tree: Tree) -> Iterator[Finding]:
    """The reduction's key is the only thing from which a controller continues the removal (KIP-694)."""
    for p in tree.partitions:
        if p.status_code and not tree.is_reduced(p.topic, p.partition) and not tree.is_deleting(p.topic):
            expected = "0, or a reduction that names the partition"
            yield find("status-without-order", _key(p), "status_code", expected, p.status_code)
