"""Rules on the orders below `/admin`: delete intents, legacy moves, elections, deletions, reductions, throttles.

An intent outlives its topic, a crash of its broker and the controller. It is wrong only where its broker is a member
again (void), where a registered broker should have acknowledged it long ago, or where no broker will ever do so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..codec import keys, orders
from ..codec.text import EACH_ONCE, SOME_BROKERS, dump_ids
from ..model.values import DeleteIntent, Partition, Replicas, TopicPartition
from .findings import Finding, find
from .tree import IntentKey, Tree

_NAMED_MAX = 5


def empty_keys(tree: Tree) -> Iterator[Finding]:
    """The key of a list of work is deleted together with the last entry."""
    lists: list[tuple[str, object]] = [(one.key, one.intents) for one in tree.intents]
    lists += [(keys.REASSIGN_PARTITIONS, tree.moves), (keys.PREFERRED_ELECTION, tree.elections)]
    lists += [(f"{orders.DELETE_PARTITIONS}/{name}", order) for name, order in tree.reductions.items()]
    lists += [*tree.throttled_topics.items(), *tree.throttled_brokers.items()]
    for key, entries in lists:
        if entries is not None and not entries:
            yield find("empty-key", key, "an empty list", "at least one entry", "none")


def intents(tree: Tree) -> Iterator[Finding]:
    """Checks what will happen with each intent."""
    topic_ids = {found.topic.topic_id for found in tree.topics.values()}
    for one in tree.intents:
        void = [intent for intent in one.intents if _is_void(tree, intent)]
        if void:
            what = f"broker {one.broker} is a member of {_named(void)}"
            yield find("void-intent", one.key, what, due=tree.is_led)
        yield from _waiting(tree, one, [intent for intent in one.intents if intent not in void], topic_ids)


def _waiting(tree: Tree, one: IntentKey, still: list[DeleteIntent], topic_ids: set[str]) -> Iterator[Finding]:
    if not still:
        return
    is_up = one.broker in tree.registered
    if not is_up and one.broker not in tree.admitted:
        what = f"broker {one.broker} is neither registered nor known: {_named(still)}"
        yield find("orphan-intent", one.key, what, "a broker of /brokers/ids or /kedge/brokers", one.broker)
        return
    stale = [i for i in still if is_up and not tree.unreadable_topics and i.topic_id not in topic_ids]
    if stale:
        what = f"broker {one.broker} is registered and has not acknowledged {_named(stale)}, which no topic has"
        yield find("stale-intent", one.key, what, due=tree.is_led)
    if len(stale) < len(still):
        where = "is registered" if is_up else "is down"
        open_ones = [intent for intent in still if intent not in stale]
        yield find("open-intent", one.key, f"{_named(open_ones)} on broker {one.broker}, which {where}")


def _is_void(tree: Tree, intent: DeleteIntent) -> bool:
    """Whether the broker is in R or T of a partition with the same topic_id that is neither offline nor being
    deleted (KIP-455)."""
    found = tree.topics.get(intent.topic)
    if found is None or found.topic.topic_id != intent.topic_id or intent.topic in tree.deleting:
        return False
    if intent.partition >= len(found.assignments):
        return False
    state = tree.state(intent.topic, intent.partition)
    members = found.assignments[intent.partition] if state is None else state.partition.members
    return intent.broker in members and not (state is not None and state.partition.is_offline)


def _named(found: Iterable[DeleteIntent]) -> str:
    tps = [str(TopicPartition(intent.topic, intent.partition)) for intent in found]
    more = "" if len(tps) <= _NAMED_MAX else f" and {len(tps) - _NAMED_MAX} more"
    return ", ".join(tps[:_NAMED_MAX]) + more


def intent_seq(tree: Tree) -> Iterator[Finding]:
    """A key of intents is numbered by the commit that wrote it, and no commit is above the token's seq."""
    seq_max = None if tree.token is None else tree.token.seq
    for one in tree.intents:
        if seq_max is not None and one.seq > seq_max:
            yield find("seq-ahead", one.key, "the number of the commit", f"at most {seq_max} (/kedge/commit)", one.seq)


def legacy_moves(tree: Tree) -> Iterator[Finding]:
    for entry in tree.moves or ():
        tp = TopicPartition(entry.topic, entry.partition)
        state = tree.state(entry.topic, entry.partition)
        if bad := _bad_target(tp, entry.target):
            yield bad
        elif not tree.has_partition(tp):
            yield _unknown_partition(keys.REASSIGN_PARTITIONS, tp)
        elif state is not None and state.is_listed:
            yield from _pending_move(tp, entry.target, state.partition)


def _bad_target(tp: TopicPartition, target: Replicas) -> Finding | None:
    """A target that no controller can carry out: it drops the entry and continues with the others."""
    if not target:
        return find("empty-list", keys.REASSIGN_PARTITIONS, f"replicas of {tp}", SOME_BROKERS, dump_ids(target))
    if len(set(target)) != len(target):
        return find("duplicate-broker", keys.REASSIGN_PARTITIONS, f"replicas of {tp}", EACH_ONCE, dump_ids(target))
    return None


def _pending_move(tp: TopicPartition, asked: Replicas, partition: Partition) -> Iterator[Finding]:
    target = partition.target_replicas
    if target is None or set(target) != set(asked):
        is_now = "none" if target is None else dump_ids(target)
        got = f"targetReplicas {is_now}, replicas {dump_ids(partition.replicas)}"
        what = f"{tp} does not move there (not yet, or no longer)"
        yield find("order-pending", keys.REASSIGN_PARTITIONS, what, f"targetReplicas {dump_ids(asked)}", got)


def elections(tree: Tree) -> Iterator[Finding]:
    for tp in tree.elections or ():
        if not tree.has_partition(tp):
            yield _unknown_partition(keys.PREFERRED_ELECTION, tp)
    if tree.elections:
        yield find("order-pending", keys.PREFERRED_ELECTION, f"{len(tree.elections)} preferred elections are requested")


def _unknown_partition(key: str, tp: TopicPartition) -> Finding:
    return find("unknown-partition", key, f"{tp} does not exist")


def deletions(tree: Tree) -> Iterator[Finding]:
    """The key is written first and deleted last, so a topic that no longer exists leaves it for a moment only."""
    for name in sorted(tree.deleting):
        key = f"{orders.DELETE_TOPICS}/{name}"
        if tree.has_topic(name) or name in tree.states or name in tree.configs:
            yield find("deletion-under-way", key, f"{name} is being deleted")
        else:
            yield find("deletion-left-behind", key, f"there is no topic {name}")


def reductions(tree: Tree) -> Iterator[Finding]:
    for name in sorted(tree.reductions):
        key = f"{orders.DELETE_PARTITIONS}/{name}"
        if not tree.has_topic(name):
            yield find("reduction-left-behind", key, f"there is no topic {name}", due=name not in tree.deleting)
        elif name in tree.topics and tree.reductions[name]:
            yield find(
                "reduction-under-way", key, f"partitions {sorted(tree.reductions[name])} of {name} are being removed"
            )
            yield from _reduced(tree, name, key)


def _reduced(tree: Tree, name: str, key: str) -> Iterator[Finding]:
    """Invariant 8: ids stay 0..n-1, so only the last partitions are removed; ids at or above the count are gone."""
    count = len(tree.topics[name].assignments)
    going = sorted(number for number in tree.reductions[name] if number < count)
    tail = list(range(count - len(going), count))
    if going != tail or (going and going[0] == 0):
        yield find("reduction-not-tail", key, "partitions", f"the last ones of 0..{count - 1}, and not all", going)
    for number in going:
        state = tree.state(name, number)
        if state is not None and state.partition.status_code == 0:
            due = tree.is_led
            yield find("reduction-not-begun", state.key, "status_code", "-1 (read-only) or 1 (offline)", 0, due=due)


def throttles(tree: Tree) -> Iterator[Finding]:
    """The mark is deleted with the throttle, when the last reassignment has ended (KIP-179)."""
    for key, topics in tree.throttled_topics.items():
        for name in topics:
            if not tree.has_topic(name):
                yield find("unknown-partition", key, f"there is no topic {name}")
    if tree.is_running():
        return
    for key, owners in (*tree.throttled_topics.items(), *tree.throttled_brokers.items()):
        if owners:
            what = "nothing is being reassigned, but throttles are marked for removal"
            yield find("throttle-removal-due", key, what, "", list(owners))
