"""The registrations of brokers, read. What they mean for who is live is `rules.registrations`."""

from __future__ import annotations

import attrs

from controller.codec import BadValue, keys
from controller.codec import broker as codec
from controller.codec.names import broker_in
from controller.model.values import Broker
from controller.runtime.readable import FORBIDDEN, read_children
from controller.runtime.unreadable import broken
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
