"""Which brokers are registered, and what that means for those that are live: a registered broker is alive.

Brokers are level-triggered: registered brokers are compared with live ones, and each difference is a death or a birth.
A birth waits until the death before it is complete. An unreadable registration is neither: known values of a live
broker stay in force, and any other broker is unread until it becomes readable.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.events import BrokerCame, BrokerGone, BrokerKnown, BrokerRedescribed, BrokerUnread, Event
from ..model.values import Broker
from ..model.view import ClusterView


def came_and_went(
    view: ClusterView, registered: Mapping[int, Broker], unread: Mapping[int, int], now_ms: int
) -> list[Event]:
    """The events for changed brokers. `registered`: readable registrations. `unread`: the `created` of unreadable
    ones."""
    events: list[Event] = []
    for broker_id in sorted({*view.brokers, *registered, *unread, *view.unread}):
        if broker_id in unread:
            events += _unread(view, broker_id, unread[broker_id], now_ms)
        else:
            events += _read(view, broker_id, registered.get(broker_id), now_ms)
    return events


def _read(view: ClusterView, broker_id: int, registered: Broker | None, now_ms: int) -> list[Event]:
    live, events = view.brokers.get(broker_id), list[Event]()
    if broker_id in view.unread:
        events.append(BrokerKnown(now_ms, broker_id, None if registered is None else registered.epoch))
    if live is not None and (registered is None or registered.epoch != live.epoch):
        events.append(BrokerGone(now_ms, broker_id, live.epoch))
    elif live is None and registered is not None and broker_id not in view.dying:
        events.append(BrokerCame(now_ms, registered))
    elif live is not None and registered is not None and live != registered:
        events.append(BrokerRedescribed(now_ms, registered))
    return events


def _unread(view: ClusterView, broker_id: int, epoch: int, now_ms: int) -> list[Event]:
    """Known values of a live broker stay in force, unless another epoch shows that it died."""
    live = view.brokers.get(broker_id)
    if live is not None:
        return [] if epoch == live.epoch else [BrokerGone(now_ms, broker_id, live.epoch)]
    if broker_id not in view.unread:
        return [] if broker_id in view.dying else [BrokerUnread(now_ms, broker_id, epoch)]
    if view.unread[broker_id] == epoch:
        return []
    return [BrokerKnown(now_ms, broker_id, None)]  # a death, after which it is read again
