"""A broker that will never come back is forgotten: nobody waits any more for it to delete what it held.

Its open intents are dropped one by one, each a Decision of its own; its key under /kedge/brokers goes last. What was
dropped when the controller dies meanwhile stays dropped, so the operator asks again. It is refused while anything but
an intent, or a topic that is being deleted, knows the broker: forgetting it would hide a replica that is missing.
"""

from __future__ import annotations

from typing import Final

from controller.model.errors import ApiError, InvalidRequest
from controller.model.events import Decision, ForgetBroker, ForgetIntent, refuse
from controller.model.records import BrokerForgotten, IntentDropped
from controller.model.view import ClusterView
from controller.rules.deletion import logs_due

_NAMED_MAX: Final = 5  # partitions in the message


def check_forgettable(view: ClusterView, broker: int) -> ApiError | None:
    """Why a broker cannot be forgotten; None if it can."""
    if broker in view.brokers:
        return InvalidRequest(f"broker {broker} is alive")
    held = [p.tp for p in view.partitions_on(broker) if not p.is_offline and not view.is_deleting(p.topic)]
    if not held:
        return None
    named = ", ".join(map(str, held[:_NAMED_MAX])) + (" and more" if len(held) > _NAMED_MAX else "")
    return InvalidRequest(f"broker {broker} is a replica of {len(held)} partitions, move them first: {named}")


def forget_broker(view: ClusterView, event: ForgetBroker) -> Decision:
    """Reply None = forgotten, also where nothing was known of it; or the error."""
    if error := check_forgettable(view, event.broker):
        return refuse(error)
    if left := tuple(view.open_intents(event.broker)):  # one that waited for its key, or is new
        return Decision(expand=(*(ForgetIntent(event.now_ms, intent) for intent in left), event))
    return Decision((BrokerForgotten(event.broker),) if view.admitted_epoch(event.broker) is not None else ())


def forget_intent(view: ClusterView, event: ForgetIntent) -> Decision:
    intent = event.intent
    if check_forgettable(view, intent.broker) is not None:
        return Decision()
    if view.open_intent(intent.broker, intent.topic_id, intent.partition) != intent:
        return Decision()
    return Decision((IntentDropped(intent, "broker forgotten"),), expand=logs_due(view, [intent], event.now_ms))
