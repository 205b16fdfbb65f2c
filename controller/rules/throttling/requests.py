"""Requests about throttles (KIP-179, KIP-542): checked one by one, and made a plan.

Invalid partitions and brokers get errors, the valid ones are done. `reassign_partitions` is exclusive: while a move
runs, it is refused as a whole. The other two replace what is marked so far: a broker or topic that the request does not
name gets back its former values; one with an error stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ...model.errors import (
    ApiError,
    InvalidReplicaAssignment,
    InvalidRequest,
    InvalidThrottle,
    InvalidTopic,
    ReassignmentInProgress,
    StorageError,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from ...model.events import (
    AlterReassignment,
    AlterThrottledRates,
    AlterThrottledReplicas,
    Decision,
    NamedTarget,
    ReassignPartitions,
    ThrottleRequest,
)
from ...model.legacy import LegacyEntry
from ...model.requests import BROKER_ID_MAX
from ...model.throttle_configs import LISTS, RATES, is_rate
from ...model.throttles import MarkKind, ThrottlePlan, Wanted, bytes_max
from ...model.values import Replicas, TopicPartition
from ...model.view import ClusterView
from ..leader_election import is_gone_to_requests
from ..reassignment import alter_reassignment
from .marks import brought, is_unread
from .plans import carry_out, new_marks, plan_bytes

INERT: Final = (
    "the brokers are Kafka's, which do not know *.reassignment.throttled.rate (KIP-542): throttle the family "
    "'replication' instead"
)
BYTES_MAX: Final = 950_000  # of any key: ZooKeeper takes 1 MB


def reassign_partitions(view: ClusterView, event: ReassignPartitions) -> Decision:
    """Reply: per partition None (its move has begun) or the error."""
    targets = {TopicPartition(one.topic, one.partition): one for one in event.targets}
    if (error := _refusal(view, event)) is not None:
        return Decision(reply=dict.fromkeys(targets, error))
    answer: dict[object, ApiError | None] = {tp: _check_target(view, event, one) for tp, one in targets.items()}
    good = [one for tp, one in targets.items() if answer[tp] is None]
    if not good:
        return Decision(reply=answer)
    plan = ThrottlePlan(
        _wanted(view, event, good),
        event.commit_limits,
        auto_remove=event.auto_remove,
        moves=tuple(LegacyEntry(one.topic, one.partition, one.target) for one in good),
        topic_ids={one.topic: topic.topic_id for one in good if (topic := view.topic(one.topic)) is not None},
        answer=answer,
    )
    return _checked(view, plan, event)


def _refusal(view: ClusterView, event: ReassignPartitions) -> ApiError | None:
    """What is wrong with the request as a whole; None if nothing is."""
    if event.throttle is not None and (error := _check_rate(event.throttle, "the throttle")):
        return error
    if view.is_reassigning or any(plan.moves for plan in view.throttles.running):
        return ReassignmentInProgress("a reassignment is running; alter_partition_reassignments adds to it")
    return None


def _check_rate(rate: int, what: str) -> ApiError | None:
    if is_rate(rate):
        return None
    return InvalidThrottle(f"{what} must be within 1..2^63-1 bytes per second, not {rate}")


def _check_target(view: ClusterView, event: ReassignPartitions, one: NamedTarget) -> ApiError | None:
    name = f"{one.topic}-{one.partition}"
    if (one.topic, one.partition) in event.twice:
        return InvalidRequest(f"{name} is named more than once")
    if view.topic(one.topic) is None or view.is_deleting(one.topic):
        is_going = "is being deleted" if view.topic(one.topic) is not None else "does not exist"
        return InvalidTopic(f"topic {one.topic!r:.300} {is_going}")
    partition = view.partition(one.topic, one.partition)
    if partition is None or is_gone_to_requests(view, partition):
        return InvalidReplicaAssignment(f"there is no partition {name}")
    is_listed = bool(one.target) and len(set(one.target)) == len(one.target)
    if is_listed and all(0 <= broker <= BROKER_ID_MAX for broker in one.target):
        unknown = [broker for broker in one.target if broker not in partition.replicas and not _is_known(view, broker)]
        if unknown:
            return UnknownMemberId(f"{name}: there are no brokers {unknown[:20]} in the cluster")
    asked = AlterReassignment(event.now_ms, one.topic, one.partition, one.target, policy_message=one.policy_message)
    reply = alter_reassignment(view, asked).reply
    if isinstance(reply, ApiError):
        return reply
    throttled = event.is_throttled and bool(set(one.target) - set(partition.replicas))
    return _check_readable(view, "topics", one.topic) if throttled else None


def _is_known(view: ClusterView, broker: int) -> bool:
    """Whether the broker belongs to the cluster, alive or not."""
    return broker in view.brokers or broker in view.unread or view.admitted_epoch(broker) is not None


def _check_readable(view: ClusterView, kind: MarkKind, owner: str) -> ApiError | None:
    if not is_unread(view, kind, owner):
        return None
    return StorageError(f"the configs of {kind} {owner} cannot be read, so no throttle can be added to them")


def _wanted(view: ClusterView, event: ReassignPartitions, good: list[NamedTarget]) -> Mapping[MarkKind, Wanted]:
    """The throttles that the moves need. A request that copies nothing needs none."""
    if not event.is_throttled:
        return {}
    topics: dict[str, dict[str, list[str]]] = {one.topic: {} for one in good}
    brokers: dict[int, None] = {}
    for one in good:
        partition = view.partition(one.topic, one.partition)
        present: Replicas = () if partition is None else partition.replicas
        brokers |= dict.fromkeys((*present, *one.target))
        added = [broker for broker in one.target if broker not in present]
        if added:
            for config, who in zip(LISTS, (present, added), strict=True):
                topics[one.topic].setdefault(config, []).extend(_pairs(one.partition, who))
    if not any(topics.values()):
        return {}
    rates = dict.fromkeys(RATES["replication"], (str(event.throttle),))
    return {"topics": _fixed(topics), "brokers": {str(broker): rates for broker in sorted(brokers)}}


def _fixed(lists: Mapping[str, Mapping[str, list[str]]]) -> Wanted:
    """The gathered lists as tuples."""
    return {topic: {config: tuple(pairs) for config, pairs in found.items()} for topic, found in lists.items()}


def _pairs(partition: int, brokers: Iterable[int]) -> list[str]:
    return [f"{partition}:{broker}" for broker in brokers]


# --- requests that alter throttles


def alter_rates(view: ClusterView, event: AlterThrottledRates) -> Decision:
    """Reply: per broker None or the error."""
    answer: dict[object, ApiError | None] = {}
    if event.rates and event.family == "reassignment" and view.settings.kafka_brokers:
        return Decision(reply=dict.fromkeys((broker for broker, *_ in event.rates), InvalidRequest(INERT)))
    wanted: dict[str, dict[str, tuple[str, ...]]] = {}
    for broker, leader, follower in event.rates:
        answer[broker] = error = _check_rates(view, broker, leader, follower)
        if error is None:
            names = RATES[event.family]
            wanted[str(broker)] = {name: (str(rate),) for name, rate in zip(names, (leader, follower), strict=True)}
    spared = frozenset(str(broker) for broker in answer if answer[broker] is not None)
    return _altered(view, event, "brokers", wanted, spared, answer)


def _check_rates(view: ClusterView, broker: int, leader: int, follower: int) -> ApiError | None:
    if not _is_known(view, broker):
        return UnknownMemberId(f"there is no broker {broker} in the cluster")
    for rate, side in ((leader, "leader_rate"), (follower, "follower_rate")):
        if error := _check_rate(rate, f"broker {broker}: {side}"):
            return error
    return _check_readable(view, "brokers", str(broker))


def alter_replicas(view: ClusterView, event: AlterThrottledReplicas) -> Decision:
    """Reply: per partition None or the error."""
    answer: dict[object, ApiError | None] = {}
    wanted: dict[str, dict[str, list[str]]] = {}
    everybody = sorted({*view.brokers, *view.admitted_brokers(), *view.unread})
    for topic, partition, *sides in event.replicas:
        answer[TopicPartition(topic, partition)] = error = _check_replicas(view, topic, partition, sides)
        if error is None:
            lists = wanted.setdefault(topic, {config: [] for config in LISTS})
            for config, who in zip(LISTS, sides, strict=True):
                lists[config] += _pairs(partition, everybody if who is None else who)
    spared = frozenset(topic for topic, *_ in event.replicas if topic not in wanted)
    return _altered(view, event, "topics", _fixed(wanted), spared, answer)


def _check_replicas(view: ClusterView, topic: str, partition: int, sides: Iterable[Replicas | None]) -> ApiError | None:
    found = view.partition(topic, partition)
    if found is None or is_gone_to_requests(view, found) or view.is_deleting(topic):
        return UnknownTopicOrPartition(f"there is no partition {topic}-{partition}")
    named = dict.fromkeys(broker for side in sides for broker in side or ())
    unknown = [broker for broker in named if not _is_known(view, broker)]
    if unknown:
        return UnknownMemberId(f"{topic}-{partition}: there are no brokers {unknown[:20]} in the cluster")
    return _check_readable(view, "topics", topic)


def _altered(  # noqa: PLR0917 - what both requests have
    view: ClusterView,
    event: AlterThrottledRates | AlterThrottledReplicas,
    kind: MarkKind,
    wanted: Wanted,
    spared: frozenset[str],
    answer: Mapping[object, ApiError | None],
) -> Decision:
    """The valid part of the request replaces what is marked; if nothing is valid, nothing changes."""
    if answer and not wanted:
        return Decision(reply=answer)
    plan = ThrottlePlan(
        {kind: wanted}, event.commit_limits, frozenset({kind}), spared, event.auto_remove, answer=answer
    )
    return _checked(view, plan, event)


# --- all requests


def _checked(view: ClusterView, plan: ThrottlePlan, event: ThrottleRequest) -> Decision:
    """Carry out the plan, unless it is too large for a key."""
    error = _obstacle(view, plan)
    if error is not None:
        good = {name: error if found is None else found for name, found in plan.answer.items()}
        return Decision(reply=good)
    if event.validate_only:
        return Decision(reply=plan.answer)
    return carry_out(view, plan, event.now_ms)


def _obstacle(view: ClusterView, plan: ThrottlePlan) -> ApiError | None:
    """Why the plan cannot be carried out; None if it can. An owner's configs are written together with its mark."""
    unread = (_check_readable(view, kind, owner) for kind in plan.wanted for owner in plan.wanted[kind])
    if (error := next(filter(None, unread), None)) is not None:
        return error
    for name, size, most in _sizes(view, plan):
        if size > most:
            holder = "a key" if most == BYTES_MAX else "a commit"
            return InvalidRequest(f"{name} would take {size} bytes; {holder} holds at most {most}")
    return None


def _sizes(view: ClusterView, plan: ThrottlePlan) -> Iterator[tuple[str, int, int]]:
    """What is written: its name, an upper bound of its bytes, and the most that it may have."""
    yield "/admin/reassign_partitions", plan_bytes(plan.moves), BYTES_MAX
    for kind in plan.wanted:
        marks = dict(new_marks(view, kind, plan))
        mark_bytes = bytes_max({**view.throttles.marks[kind], **marks})
        yield f"the mark of {kind}", mark_bytes, BYTES_MAX
        for owner in plan.wanted[kind].keys() & marks.keys():
            size = config_bytes(brought(view, kind, owner, marks[owner]).after)
            yield f"the configs of {kind} {owner}", size, BYTES_MAX
            yield f"the configs of {kind} {owner} with the mark", size + mark_bytes, plan.commit_limits.bytes


def config_bytes(configs: Mapping[str, str]) -> int:
    """An upper bound of the bytes of configs and of their notification."""
    return 800 + sum(len(name) + len(value) + 8 for name, value in configs.items())
