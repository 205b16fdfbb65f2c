"""Rules on the orders below `/admin`: delete intents, legacy moves, elections, deletions, reductions, throttles.

An intent outlives its topic, a crash of its broker and the controller. It is wrong only where its broker is a member
again (void), where a registered broker should have acknowledged it long ago, or where no broker will ever do so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...stores.recipes import TOKEN_KEY
from ..codec import keys, orders
from ..codec.text import EACH_ONCE, SOME_BROKERS, dump_ids
from ..model.values import DeleteIntent, Partition, Replicas, TopicPartition
from ..state.intents import KeyId
from .findings import Finding, find
from .tree import Tree

_NAMED_MAX = 5


def empty_keys(tree: Tree) -> Iterator[Finding]:
    """The key of a list of work is deleted together with the last entry."""
    for key, entries in tree.values.items():
        if key.startswith("/admin/") and entries is not None and not entries:
            yield find("empty-key", key, "an empty list", "at least one entry", "none")


def intents(tree: Tree) -> Iterator[Finding]:
    topic_ids = {row.topic.topic_id for row in tree.state.topics.values()}
    by_key: dict[KeyId, list[DeleteIntent]] = {}
    for broker in tree.state.intents.brokers():
        for intent in tree.state.intents.of(broker):
            seq = tree.state.intents.seq_of(intent)
            assert seq is not None, "every intent that was loaded has a key"
            by_key.setdefault((broker, seq), []).append(intent)
    for (broker, seq), found in by_key.items():
        key = keys.replica_deletions(broker, seq)
        void = [intent for intent in found if _is_void(tree, intent)]
        if void:
            yield find("void-intent", key, f"broker {broker} is a member of {_named(void)}", due=tree.is_led)
        yield from _waiting(tree, key, broker, [intent for intent in found if intent not in void], topic_ids)


def _waiting(tree: Tree, key: str, broker: int, still: list[DeleteIntent], topic_ids: set[str]) -> Iterator[Finding]:
    if not still:
        return
    is_up = broker in tree.registered
    if not is_up and broker not in tree.state.admitted:
        what = f"broker {broker} is neither registered nor known: {_named(still)}"
        yield find("orphan-intent", key, what, "a broker of /brokers/ids or /kedge/brokers", broker)
        return
    may_be_stale = is_up and not any(number is None for _, number in tree.state.problems)
    stale = [i for i in still if may_be_stale and i.topic_id not in topic_ids]
    if stale:
        what = f"broker {broker} is registered and has not acknowledged {_named(stale)}, which no topic has"
        yield find("stale-intent", key, what, due=tree.is_led)
    if len(stale) < len(still):
        where = "is registered" if is_up else "is down"
        open_ones = [intent for intent in still if intent not in stale]
        yield find("open-intent", key, f"{_named(open_ones)} on broker {broker}, which {where}")


def _is_void(tree: Tree, intent: DeleteIntent) -> bool:
    """Whether the broker is in R or T of a partition with the same topic_id that is neither offline nor being
    deleted (KIP-455)."""
    topic, p = tree.state.topic(intent.topic), tree.state.partition(intent.topic, intent.partition)
    if topic is None or p is None or topic.topic_id != intent.topic_id or tree.is_deleting(intent.topic):
        return False
    return intent.broker in p.members and not p.is_offline


def _named(found: Iterable[DeleteIntent]) -> str:
    tps = [str(TopicPartition(intent.topic, intent.partition)) for intent in found]
    more = "" if len(tps) <= _NAMED_MAX else f" and {len(tps) - _NAMED_MAX} more"
    return ", ".join(tps[:_NAMED_MAX]) + more


def intent_seq(tree: Tree) -> Iterator[Finding]:
    """A key of intents is numbered by the commit that wrote it, and no commit is above the token's seq."""
    token = tree.values.get(TOKEN_KEY)
    for broker, seq in tree.state.intents.keys:
        if token is not None and seq > token.seq:
            expected = f"at most {token.seq} ({TOKEN_KEY})"
            yield find("seq-ahead", keys.replica_deletions(broker, seq), "the number of the commit", expected, seq)


def legacy_moves(tree: Tree) -> Iterator[Finding]:
    for entry in tree.state.legacy.key.entries:
        tp = TopicPartition(entry.topic, entry.partition)
        p = tree.state.partition(entry.topic, entry.partition)
        if bad := _bad_target(tp, entry.target):
            yield bad
        elif not tree.may_have_partition(tp):
            yield _unknown_partition(keys.REASSIGN_PARTITIONS, tp)
        elif p is not None and p.has_state:
            yield from _pending_move(tp, entry.target, p)


def _bad_target(tp: TopicPartition, target: Replicas) -> Finding | None:
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
    partitions = tree.values.get(keys.PREFERRED_ELECTION, ())
    for tp in partitions:
        if not tree.may_have_partition(tp):
            yield _unknown_partition(keys.PREFERRED_ELECTION, tp)
    if partitions:
        yield find("order-pending", keys.PREFERRED_ELECTION, f"{len(partitions)} preferred elections are requested")


def _unknown_partition(key: str, tp: TopicPartition) -> Finding:
    return find("unknown-partition", key, f"{tp} does not exist")


def deletions(tree: Tree) -> Iterator[Finding]:
    """The key is written first and deleted last, so a topic that no longer exists leaves it for a moment only."""
    for name in tree.below(keys.DELETE_TOPICS):
        key = keys.delete_topic(name)
        if tree.has_topic(name) or name in tree.unlisted or keys.topic_config(name) in tree.entries:
            yield find("deletion-under-way", key, f"{name} is being deleted")
        else:
            yield find("deletion-left-behind", key, f"there is no topic {name}")


def reductions(tree: Tree) -> Iterator[Finding]:
    for name in tree.below(keys.DELETE_PARTITIONS):
        key = keys.delete_partitions(name)
        numbers = sorted(tree.values.get(key, ()))
        if key in tree.values and not tree.has_topic(name):
            yield find("reduction-left-behind", key, f"there is no topic {name}", due=not tree.is_deleting(name))
        elif numbers and name in tree.state.topics:
            yield find("reduction-under-way", key, f"partitions {numbers} of {name} are being removed")
            yield from _reduced(tree, name, key, numbers)


def _reduced(tree: Tree, name: str, key: str, numbers: list[int]) -> Iterator[Finding]:
    """Invariant 8: ids stay 0..n-1, so only the last partitions are removed; ids at or above the count are gone."""
    count = tree.state.partition_count(name)
    going = [number for number in numbers if number < count]
    tail = list(range(count - len(going), count))
    if going != tail or (going and going[0] == 0):
        yield find("reduction-not-tail", key, "partitions", f"the last ones of 0..{count - 1}, and not all", going)
    for number in going:
        p = tree.state.partition(name, number)
        if p is not None and p.has_state and p.status_code == 0:
            what = "-1 (read-only) or 1 (offline)"
            yield find("reduction-not-begun", keys.state(name, number), "status_code", what, 0, due=tree.is_led)


def throttles(tree: Tree) -> Iterator[Finding]:
    """The mark is deleted with the throttle, when the last reassignment has ended (KIP-179)."""
    for key in orders.REPLICAS_REMOVAL:
        for name in tree.values.get(key, ()):
            if not tree.has_topic(name):
                yield find("unknown-partition", key, f"there is no topic {name}")
    if keys.REASSIGN_PARTITIONS in tree.entries or tree.moving():
        return
    for key in (*orders.REPLICAS_REMOVAL, *orders.RATES_REMOVAL):
        if owners := tree.values.get(key):
            what = "nothing is being reassigned, but throttles are marked for removal"
            yield find("throttle-removal-due", key, what, "", list(owners))
