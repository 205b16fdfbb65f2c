"""A broker that will never return is forgotten: nothing waits any more for it to delete its replicas.

1. What waits for it is dropped in a Decision each: its open intents, and those that it gets when the partitions of
topics that are being deleted are stopped, which is done first. So a takeover finds nothing that waits for it. 2. Its
key under /kedge/brokers is deleted last, and only then the answer is given. If the controller dies meanwhile, what was
dropped stays dropped, and the operator repeats the request. 3. It is refused while the broker is a replica of a
partition whose topic is not being deleted: forgetting it would hide a missing replica. Each of these commits checks
that the broker is not registered: one that has just returned, and was not seen yet, is alive.
"""

from __future__ import annotations

from typing import Final

from ..model.errors import ApiError, InvalidRequest, RequestTimedOut
from ..model.events import (
    LATER,
    Decision,
    Event,
    ForgetBroker,
    ForgetIntent,
    ForgettingDone,
    Group,
    PartitionDue,
    Reason,
    refuse,
)
from ..model.plural import counted
from ..model.values import DeleteIntent, Partition
from ..model.view import ClusterView
from ..records import BrokerForgotten, IntentDropped
from .deletion import logs_due
from .reduction.purge import purges_due

_NAMED_MAX: Final = 5  # partitions in the message


def check_forgettable(view: ClusterView, broker: int) -> ApiError | None:
    """Why a broker cannot be forgotten; None if it can."""
    if broker in view.brokers:
        return InvalidRequest(f"broker {broker} is alive")
    if broker in view.unread:
        return InvalidRequest(f"broker {broker} is registered, but its registration cannot be read")
    held = [p.tp for p in view.partitions_on(broker) if not p.is_offline and not view.is_deleting(p.topic)]
    if not held:
        return None
    named = ", ".join(map(str, held[:_NAMED_MAX])) + (" and more" if len(held) > _NAMED_MAX else "")
    return InvalidRequest(
        f"broker {broker} is a replica of {counted(len(held), 'partition')}, move them first: {named}"
    )


def forget_broker(view: ClusterView, event: ForgetBroker) -> Decision:
    """Reply None: forgotten, also if the broker was unknown. Otherwise the error."""
    return _go_on(view, event.broker, event.now_ms, None)


def forgetting_done(view: ClusterView, event: ForgettingDone) -> Decision:
    """As `forget_broker`: what was added meanwhile is dropped too. RequestTimedOut if nothing was dropped."""
    return _go_on(view, event.broker, event.now_ms, event.left)


_Left = tuple[DeleteIntent | Partition, ...]


def _go_on(view: ClusterView, broker: int, now_ms: int, before: _Left | None) -> Decision:
    if error := check_forgettable(view, broker):
        return refuse(error)
    left: _Left = (*view.open_intents(broker), *_not_stopped(view, broker))
    if not left:
        return Decision((BrokerForgotten(broker),) if view.admitted_epoch(broker) is not None else ())
    if left == before:
        return refuse(
            RequestTimedOut(f"broker {broker}: {counted(len(left), 'replica')} not dropped yet; repeat the request")
        )
    due = [_due(one, now_ms, is_deleting=view.is_deleting(one.topic)) for one in left]
    return Decision((), LATER, (Group(tuple(due), ForgettingDone(now_ms, broker, left)),))


def _not_stopped(view: ClusterView, broker: int) -> list[Partition]:
    """The partitions whose deletion would still need the broker."""
    return [p for p in view.partitions_on(broker) if _asks(view, p)]


def _asks(view: ClusterView, partition: Partition) -> bool:
    if view.is_deleting(partition.topic):
        return not partition.is_stopped
    return partition.is_offline and not partition.are_holders_told and bool(view.reduction(partition.topic))


def _due(one: DeleteIntent | Partition, now_ms: int, *, is_deleting: bool) -> Event:
    if isinstance(one, DeleteIntent):
        return ForgetIntent(now_ms, one)
    if one.is_offline and not is_deleting:
        return PartitionDue(now_ms, one.topic, one.partition, Reason.RETIRE)
    return PartitionDue(now_ms, one.topic, one.partition, Reason.STOP)


def forget_intent(view: ClusterView, event: ForgetIntent) -> Decision:
    intent = event.intent
    if check_forgettable(view, intent.broker) is not None:
        return Decision()
    if view.open_intent(intent.broker, intent.topic_id, intent.partition) != intent:
        return Decision()
    dropped = IntentDropped(intent, "broker forgotten", forgotten=True)
    due = (*logs_due(view, [intent], event.now_ms), *purges_due(view, [intent], event.now_ms))
    return Decision((dropped,), expand=due)
