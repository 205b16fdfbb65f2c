"""Who is registered, and what that means for who is live: presence says alive.

Brokers are level-triggered: what is registered is compared with what is live, and the difference is a death or a birth.
A birth waits until nothing of the death before it is left to do. A registration that is there and cannot be read is
neither: of a live broker what is known stays in force, and any other one is unread until more is known.
"""

from __future__ import annotations

import attrs

from controller.codec import BadValue, keys
from controller.codec import broker as codec
from controller.codec.names import broker_in
from controller.model.events import BrokerCame, BrokerGone, BrokerKnown, BrokerRedescribed, BrokerUnread, Event
from controller.model.values import Broker
from controller.runtime.readable import FORBIDDEN, read_children
from controller.runtime.unreadable import broken
from controller.state import ClusterState
from stores.base import MetadataStore


@attrs.define
class Registrations:
    """Who is registered. `brokers`: whose registration could be read. `unread`: of whom it is there and could not, with
    its `created`, None where not even that could be read. `problems`: what is wrong with keys, for people."""

    brokers: dict[int, Broker] = attrs.field(factory=dict)
    unread: dict[int, int | None] = attrs.field(factory=dict)
    problems: dict[str, str] = attrs.field(factory=dict)


def read_registrations(store: MetadataStore, timeout_s: float) -> Registrations:
    """Who is registered. A name that is no broker's is a problem, and nobody."""
    found = Registrations()
    for name, entry in read_children(store, keys.BROKER_IDS, timeout_s):
        try:
            broker_id = broker_in(name)
        except BadValue as error:
            found.problems[entry.key] = str(error)
            continue
        if entry.value is FORBIDDEN:
            found.unread[broker_id] = None
            continue
        try:
            found.brokers[broker_id] = Broker(codec.decode(entry.value, broker_id), entry.created)
        except (ValueError, TypeError) as error:
            found.unread[broker_id] = entry.created
            found.problems[entry.key] = broken(entry.key, error)
    return found


def came_and_went(state: ClusterState, found: Registrations, now_ms: int) -> list[Event]:
    """What became of brokers, by what is registered now."""
    events: list[Event] = []
    for broker_id in sorted({*state.brokers, *found.brokers, *found.unread, *state.unread}):
        if broker_id in found.unread:
            events += _unread(state, broker_id, found.unread[broker_id], now_ms)
        else:
            events += _read(state, broker_id, found.brokers.get(broker_id), now_ms)
    return events


def _read(state: ClusterState, broker_id: int, registered: Broker | None, now_ms: int) -> list[Event]:
    live, events = state.brokers.get(broker_id), list[Event]()
    if broker_id in state.unread:
        events.append(BrokerKnown(now_ms, broker_id, None if registered is None else registered.epoch))
    if live is not None and (registered is None or registered.epoch != live.epoch):
        events.append(BrokerGone(now_ms, broker_id, live.epoch))
    elif live is None and registered is not None and broker_id not in state.dying:
        events.append(BrokerCame(now_ms, registered))
    elif live is not None and registered is not None and live != registered:
        events.append(BrokerRedescribed(now_ms, registered))
    return events


def _unread(state: ClusterState, broker_id: int, epoch: int | None, now_ms: int) -> list[Event]:
    """Of a live broker what is known stays in force, unless another epoch says that it died."""
    live, known = state.brokers.get(broker_id), state.unread.get(broker_id)
    if live is not None:
        return [] if epoch in (None, live.epoch) else [BrokerGone(now_ms, broker_id, live.epoch)]
    if broker_id not in state.unread:
        return [] if broker_id in state.dying else [BrokerUnread(now_ms, broker_id, epoch)]
    if None in (known, epoch) or known == epoch:
        return []
    return [BrokerKnown(now_ms, broker_id, None)]  # that is a death, after which it is read again
