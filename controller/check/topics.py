"""Rules on topic keys and state keys: invariants 1, 2 and 8 of the design, and what a move or a death left over.

A topic that is being deleted loses its keys one by one and has no leaders: only what must hold at every moment is
checked. Liveness is not checked while no broker is registered: then the cluster does not run yet, or no longer.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..codec import keys
from ..model.values import LEADER_DURING_DELETE, NO_LEADER, TopicPartition
from .findings import Finding, find
from .tree import State, Tree


def topic_id_missing(tree: Tree) -> Iterator[Finding]:
    for name, found in tree.topics.items():
        if not found.topic.topic_id:
            yield find("topic-id-missing", keys.topic(name), "topic_id", "22 characters", "none", due=tree.is_led)


def topic_id_twice(tree: Tree) -> Iterator[Finding]:
    """An intent and a broker's log are identified by topic_id: two topics with the same one would share them."""
    names: dict[str, str] = {}
    for name, found in sorted(tree.topics.items()):
        topic_id = found.topic.topic_id
        if topic_id and names.setdefault(topic_id, name) != name:
            yield find("topic-id-twice", keys.topic(name), f"topic_id {topic_id} is also that of {names[topic_id]}")


def kafka_move(tree: Tree) -> Iterator[Finding]:
    for name, found in tree.topics.items():
        for number in sorted({*found.adding, *found.removing}):
            said = f"adding {list(found.adding.get(number, ()))}, removing {list(found.removing.get(number, ()))}"
            yield find("kafka-move", keys.topic(name), f"{TopicPartition(name, number)}: {said}")


def state_missing(tree: Tree) -> Iterator[Finding]:
    """A new partition gets its state key as soon as one of its brokers is alive, unless it is being removed."""
    for name, found in tree.topics.items():
        known = tree.states.get(name, {})
        if name in tree.deleting or len(known) == len(found.assignments) == _listed_count(known, found.assignments):
            continue
        going = tree.reductions.get(name, {})
        for number, replicas in enumerate(found.assignments):
            if number not in known and number not in going:
                due = tree.is_led and not tree.registered.keys().isdisjoint(replicas)
                what = "the state key is missing"
                yield find("state-missing", keys.state(name, number), what, f"a leader of {list(replicas)}", due=due)


def _listed_count(known: dict[int, State | None], assignments: tuple[object, ...]) -> int:
    return sum(number < len(assignments) for number in known)


def orphan_state(tree: Tree) -> Iterator[Finding]:
    for name, states in tree.states.items():
        if not tree.has_topic(name):
            what = f"{len(states)} state keys of a topic without a topic key"
            yield find("orphan-topic", keys.topic(name), what, "a topic key", "none")
        elif (found := tree.topics.get(name)) is not None and any(n >= len(found.assignments) for n in states):
            expected = f"partitions 0..{len(found.assignments) - 1}"
            for number in sorted(n for n in states if n >= len(found.assignments)):
                yield find("orphan-state", keys.state(name, number), "not in the topic key", expected, number)


def isr_outside(tree: Tree) -> Iterator[Finding]:
    """Invariant 2: the isr is within R, or R and T while a move runs."""
    for state in tree.listed():
        p = state.partition
        if p.isr is not p.replicas and not set(p.isr) <= set(p.members):
            yield find("isr-outside", state.key, "isr", f"within {list(p.members)}", p.isr)


def leader_outside_isr(tree: Tree) -> Iterator[Finding]:
    """Invariant 1: the leader is in the isr, or there is none."""
    for state in tree.every_state():
        p = state.partition
        if p.leader == LEADER_DURING_DELETE and p.topic in tree.deleting:
            continue
        if p.leader != NO_LEADER and p.leader not in p.isr:
            yield find("leader-outside-isr", state.key, "leader", f"one of {list(p.isr)}, or {NO_LEADER}", p.leader)


def who_is_gone(tree: Tree) -> Iterator[Finding]:
    """Deaths that were not handled, and partitions without a leader."""
    if not tree.registered:
        return
    live = tree.registered.keys()
    for state in tree.listed():
        p = state.partition
        if (p.isr and p.leader in live and live >= set(p.isr)) or p.topic in tree.deleting or p.is_offline:
            continue
        gone = [b for b in p.isr if b not in live and b != p.leader]
        if p.leader == NO_LEADER:
            yield _leaderless(tree, state, sorted(live & set(p.isr)))
        elif p.leader not in live:
            yield find("leader-gone", state.key, f"the leader {p.leader} is not registered", due=tree.is_led)
        elif gone:
            yield find("isr-gone", state.key, "members of the isr are not registered", "", gone, due=tree.is_led)


def _leaderless(tree: Tree, state: State, live: list[int]) -> Finding:
    if live:
        return find("no-leader", state.key, "leader", f"one of {live}", NO_LEADER, due=tree.is_led)
    return find("offline", state.key, "no member of the isr is registered", "", state.partition.isr)


def unfinished_completion(tree: Tree) -> Iterator[Finding]:
    """All of T is in sync: only a controller, or a member of T that can lead, may still be missing."""
    for state in tree.listed():
        p = state.partition
        if p.move is not None and set(p.move.target) <= set(p.isr) and p.topic not in tree.deleting:
            due = tree.is_led and not tree.registered.keys().isdisjoint(p.move.target)
            what = f"targetReplicas {list(p.move.target)} are all in sync"
            yield find("unfinished-completion", state.key, what, "no targetReplicas", p.move.target, due=due)


def orphan_reassignment(tree: Tree) -> Iterator[Finding]:
    for state in tree.every_state():
        if state.has_orphan_block:
            yield find("orphan-reassignment", state.key, "reassignment", "none without targetReplicas", "one")


def recovering_isr(tree: Tree) -> Iterator[Finding]:
    """After an unclean election the isr grows only after the leader has reported its recovery (KIP-704)."""
    for state in tree.every_state():
        p = state.partition
        if p.leader_recovery_state == 1 and len(p.isr) > 1:
            yield find("recovering-isr", state.key, "isr of a recovering leader", f"[{p.leader}]", p.isr)


def retired_epoch(tree: Tree) -> Iterator[Finding]:
    """Invariant 8: a new partition with a retired id begins above the old epoch, so late messages are ignored."""
    for name, found in tree.topics.items():
        for number, epoch in found.topic.retired_epochs.items():
            state = tree.state(name, number)
            if state is not None and state.is_listed and state.partition.leader_epoch <= epoch:
                yield find("retired-epoch", state.key, "leader_epoch", f"above {epoch}", state.partition.leader_epoch)


def state_epoch(tree: Tree) -> Iterator[Finding]:
    """Invariant 5: no key has a controller epoch that does not exist yet."""
    epoch_max = tree.epoch
    for state in tree.every_state():
        epoch = state.controller_epoch
        if type(epoch) is not int or epoch < 0 or (epoch_max is not None and epoch > epoch_max):
            expected = "a whole number" if epoch_max is None else f"a whole number within 0..{epoch_max}"
            yield find("state-epoch", state.key, "controller_epoch", expected, epoch)


def status_without_order(tree: Tree) -> Iterator[Finding]:
    """The reduction's key is the only thing from which a controller continues the removal (KIP-694)."""
    for state in tree.listed():
        p = state.partition
        ordered = p.partition in tree.reductions.get(p.topic, {}) or p.topic in tree.unreadable_reductions
        if p.status_code and not ordered and p.topic not in tree.deleting:
            expected = "0, or a reduction that names the partition"
            yield find("status-without-order", state.key, "status_code", expected, p.status_code)
