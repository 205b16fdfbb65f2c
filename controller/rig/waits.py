"""Waits with a deadline, in virtual time. On a timeout the message has the condition and the present state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...stores.base import Depth
from ...stores.checks import parent
from ..codec import keys
from ..codec.small import encode_admitted
from ..keys.notifications import NotificationKeys
from ..model.values import NO_LEADER, DeleteIntent, TopicPartition
from ..simulated.flows import WINDOW_MS, Flow
from ..simulated.replica import Role
from .gone import left_over, unpurged
from .outside import is_key_there
from .parts import Parts

QUIET_STEPS = 30  # longer than the first retry of a callback, and of an isr change


class Waits:
    """`rig.wait`: virtual time passes until a condition is true. Each raises NotInTime at its deadline."""

    def __init__(self, rig: Parts) -> None:
        self._rig = rig

    def until_replicas(self, targets: Mapping[TopicPartition, Sequence[int]], *, timeout_s: float = 600.0) -> None:
        """Each partition has exactly these replicas, in this order, and does not move."""

        def reached(tp: TopicPartition, target: Sequence[int]) -> bool:
            partition = self._rig.partition(tp)
            return partition.replicas == tuple(target) and partition.move is None

        wanted = ", ".join(f"{tp} on {list(target)}" for tp, target in targets.items())
        self._rig.until(lambda: all(reached(*item) for item in targets.items()), timeout_s=timeout_s, what=wanted)

    def until_quiet(self, *, timeout_s: float = 120.0) -> None:
        """Nothing moves: no commit, no callback, no copying for a while, and nothing in transit."""
        self._rig.quiet_steps = 0
        self._rig.until(
            lambda: self._rig.quiet_steps >= QUIET_STEPS and self._rig.network.is_quiet,
            timeout_s=timeout_s,
            what="nothing moves any more",
        )

    def until_converged(self, *, timeout_s: float = 120.0) -> None:
        """All live brokers agree with what is committed; nothing is left to delete, to elect, to copy."""
        rig = self._rig
        rig.quiet_steps = 0  # the last failure or request has not had an effect yet
        rig.until(lambda: rig.quiet_steps >= 5 and not disagreements(rig), timeout_s=timeout_s, what="all agree")

    def until_rate(
        self, flow: Flow, bytes_s: float, *, within: float = 0.05, window_ms: int = WINDOW_MS, timeout_s: float = 60.0
    ) -> None:
        """The flow had this rate over the last `window_ms`, with a tolerance of `within` of it."""
        begun_ms = self._rig.clock.elapsed_ms

        def reached() -> bool:
            is_whole = self._rig.clock.elapsed_ms - begun_ms >= window_ms
            return is_whole and abs(flow.rate(window_ms) - bytes_s) <= within * bytes_s

        what = f"{bytes_s} bytes a second over {window_ms} ms, {flow.side} side of broker {flow.broker}"
        self._rig.until(reached, timeout_s=timeout_s, what=what)


def disagreements(rig: Parts) -> list[str]:
    """Where the live brokers and the store differ, one line each. Empty when all agree."""
    found: list[str] = []
    if rig.active is None:
        return ["no controller is active"]
    live = {broker.broker_id for broker in rig.brokers.values() if broker.is_up}
    found += [f"not handled: {key}" for key in sorted(rig.server.table.rows) if _is_notification(key)]
    found += _not_admitted(rig)
    found += [f"to be deleted: {i.topic}-{i.partition} on {i.broker}" for i in _open_intents(rig, live)]
    if is_key_there(rig):
        found.append("the legacy key exists")
    found += left_over(rig)
    found += unpurged(rig)
    for tp, partition in rig.committed.partitions.items():
        if tp.topic in rig.committed.deleting or partition.is_offline:
            continue
        if partition.leader == NO_LEADER and live & set(partition.isr):
            found.append(f"{tp} has no leader, but {sorted(live & set(partition.isr))} of its isr live")
        missing = [b for b in partition.replicas if b in live and b not in partition.isr and not _disk_gone(rig, tp, b)]
        if missing and partition.leader in live:
            found.append(f"{tp}: {missing} live and are not in sync")
    for broker in rig.brokers.values():
        if broker.is_up:
            found += _differs(rig, broker.broker_id, live)
    return found


def _not_admitted(rig: Parts) -> list[str]:
    """Brokers that are up and not registered, or whose last admission is of a former registration: the controller has
    not handled them yet."""
    rows, found = rig.server.table.rows, []
    for broker_id, broker in rig.brokers.items():
        registered, admitted = rows.get(keys.broker(broker_id)), rows.get(keys.admitted(broker_id))
        if registered is None and broker.is_up:
            found.append(f"broker {broker_id} is up, and not registered")
        elif registered is not None and (admitted is None or admitted[0] != encode_admitted(registered[3])):
            found.append(f"broker {broker_id} is registered, and not admitted")
    return found


def _is_notification(key: str) -> bool:
    return any(key == root if depth is Depth.SELF else parent(key) == root for root, depth in NotificationKeys.roots)


def _disk_gone(rig: Parts, tp: TopicPartition, broker: int) -> bool:
    held = rig.brokers[broker]
    topic = rig.committed.topic(tp.topic)
    return topic is not None and ((topic.topic_id, tp.partition) in held.disks_gone or held.replica(tp) is None)


def _open_intents(rig: Parts, live: set[int]) -> list[DeleteIntent]:
    return [intent for intents in rig.committed.intents.values() for intent in intents if intent.broker in live]


def _differs(rig: Parts, broker_id: int, live: set[int]) -> list[str]:
    broker = rig.brokers[broker_id]
    found = []
    if set(broker.peers) != live:
        found.append(f"broker {broker_id} knows the live brokers {list(broker.peers)}, they are {sorted(live)}")
    for tp, partition in rig.committed.partitions.items():
        if tp.topic in rig.committed.deleting:
            continue
        known = broker.metadata.get(tp)
        # The epoch of a key that another program wrote becomes known with its next write.
        epoch = known.partition_epoch if known and tp in rig.committed.foreign else rig.committed.partition_epochs[tp]
        status = partition.status_code
        wanted = (partition.leader, partition.leader_epoch, partition.isr, partition.replicas, epoch, status)
        said = (known.leader, known.leader_epoch, known.isr, known.replicas) if known else ()
        told = known and (*said, known.partition_epoch, known.status_code)
        if told != wanted:
            found.append(f"broker {broker_id} knows {tp} as {told}, it is {wanted}")
        if partition.is_offline:
            continue
        replica = broker.replica(tp)
        if broker_id in partition.members:
            if replica is not None and (replica.leader, replica.leader_epoch) != (
                partition.leader,
                partition.leader_epoch,
            ):
                found.append(
                    f"broker {broker_id} serves {tp} as {replica.role.value} of {replica.leader}/{replica.leader_epoch}"
                )
        elif replica is not None:
            found.append(f"broker {broker_id} has {tp}, of which it is no longer a member")
    asking = [replica for replica in broker.serving(Role.LEADER) if replica.asked is not None]
    return found + [f"broker {broker_id} waits for an isr of {r.topic}-{r.partition}" for r in asking]


def describe(rig: Parts) -> str:
    """The present state, to find the cause of a failure."""
    lines = [
        f"seed {rig.seed}, at {rig.clock.elapsed_ms} ms; controllers "
        + ", ".join(f"{n.node_id} {n.state.value}{' (active)' if n.is_active else ''}" for n in rig.nodes.values()),
        "brokers " + ", ".join(f"{b.broker_id} {b.life.value}" for b in rig.brokers.values()),
    ]
    for tp, p in rig.committed.partitions.items():
        move = "" if p.move is None else f" T {list(p.move.target)}"
        ends = {b: broker.log(tp) for b, broker in rig.brokers.items()}
        held = " ".join(f"{b}:{log.high_watermark}/{log.end_offset}" for b, log in ends.items() if log is not None)
        lines.append(f"{tp} R {list(p.replicas)} I {list(p.isr)}{move} leader {p.leader}/{p.leader_epoch} logs {held}")
    if rig.active is not None and rig.active.controller is not None:
        lines.append(f"findings {dict(rig.active.controller.describe().findings)}")
    return "\n".join([*lines, *disagreements(rig)[:10], "the last of the timeline:", *rig.timeline.lines(25)])
