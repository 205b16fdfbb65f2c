"""The keys of brokers: their registrations, and the latest admission of each.

`rules.registrations` derives from registrations which brokers are live.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ...stores.base import Depth, Entry
from ...stores.recipes import TOKEN_KEY
from ..codec import BadValue, keys, small
from ..codec import broker as codec
from ..codec.names import broker_in
from ..model.events import BrokerRedescribed, Event
from ..model.values import Broker
from ..rules.registrations import came_and_went
from .base import GONE, Content, KeyContext, KeyKind
from .unreadable import Unreadable

UNKNOWN_EPOCH: Final = -1  # of an admission that cannot be read: no registration has it, so it is a death, then a birth
TOO_OLD: Final = (
    "broker {} is not served: its inter.broker.protocol.version is below 2.7, so it writes partition states itself and "
    "would lose reassignments; set 2.7 or later (3.9 is the newest) and restart it"
)


class RegistrationKeys(KeyKind):
    """A dirty key checks that a broker is not registered; the key id is its id. `brokers`: readable registrations.
    `unread`: the `created` of unreadable ones. `is_due`: whether registrations must be compared with the live
    brokers."""

    unreadable = (
        Unreadable(
            "registration",
            "its broker is not dead: the registration that is known stays in force under the same epoch. If none is "
            "known, the broker is not called or elected, and keeps its leads and its places in ISRs. Another epoch is "
            "a death",
        ),
    )
    name, path = "unregistered", staticmethod(keys.broker)
    roots = ((keys.BROKER_IDS, Depth.VALUES),)

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        self.brokers: dict[int, Broker] = {}
        self.unread: dict[int, int] = {}
        self.is_due = True

    def load(self, now_ms: int) -> list[Event]:
        self._read()
        for broker_id, epoch in self.unread.items():
            self.state.load_unread_broker(broker_id, epoch)
        live = [broker for broker in self.brokers.values() if self.state.load_broker(broker)]
        return [BrokerRedescribed(now_ms, broker) for broker in live]

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """Read only; `due` compares after all hints were read."""
        self._read()
        self.is_due = True
        return []

    def due(self, now_ms: int) -> list[Event]:
        """The events for brokers that came or went, if that may have changed."""
        is_due, self.is_due = self.is_due, False
        return came_and_went(self.state, self.brokers, self.unread, now_ms) if is_due else []

    def reread(self, key_ids: Sequence[int], now_ms: int) -> list[Event]:  # noqa: ARG002
        """The events for brokers that came or went, at least as new as the commit that found a broker registered."""
        self.context.get(TOKEN_KEY)
        self._read()
        return came_and_went(self.state, self.brokers, self.unread, now_ms)

    def are_all_admitted(self) -> bool:
        """Whether every registered broker is live under its registration."""
        live = self.state.brokers
        return all(b in live and live[b].epoch == found.epoch for b, found in self.brokers.items())

    def _read(self) -> None:
        """Read all registrations. A name that is not a broker id is a problem, and no broker."""
        problems: dict[str, str] = {}
        entries = list(self.context.below(keys.BROKER_IDS))
        self.brokers, self.unread = {}, {}
        for name, entry in entries:
            try:
                self._take(broker_in(name), entry, problems)
            except BadValue as error:
                problems[entry.key] = str(error)
        self.context.findings.below(keys.BROKER_IDS, problems)

    def _take(self, broker_id: int, entry: Entry, problems: dict[str, str]) -> None:
        try:
            broker = Broker(codec.decode(entry.value, broker_id), entry.created)
            if self.state.settings.kafka_brokers and not codec.has_features(broker.registration):
                problems[entry.key] = TOO_OLD.format(broker_id)
            else:
                self.brokers[broker_id] = broker
        except (ValueError, TypeError) as error:
            self.unread[broker_id] = entry.created
            problems[entry.key] = self.unreadable[0].said(error)

    def content(self, key_id: int) -> Content:  # noqa: ARG002
        return GONE  # of a broker that is not registered: it is checked to be absent


class AdmissionKeys(KeyKind):
    """The latest admitted registration of a broker. `key_id`: its id. Only controllers write these keys."""

    unreadable = (Unreadable("admission", "a death, then a new registration, which writes the key again"),)
    name, path = "admitted", staticmethod(keys.admitted)
    roots = ((keys.ADMITTED, None),)

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        for name, entry in self.context.below(keys.ADMITTED):
            try:
                broker_id = broker_in(name)
                self.state.versions.put(entry.key, entry.version)
                self.state.load_admitted(broker_id, UNKNOWN_EPOCH)
                self.state.load_admitted(broker_id, small.decode_admitted(entry.value))
            except BadValue as error:
                self.context.findings.bad(entry.key, str(error))
        return []

    def content(self, key_id: int) -> Content:
        live = self.state.brokers.get(key_id)  # None: it came and went within the batch; the next admission writes it
        return None if live is None else small.encode_admitted(live.epoch)

    def committed(self, key_id: int, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.admission_written(key_id)


class ForgottenKeys(KeyKind):
    name, path = "forgotten", staticmethod(keys.admitted)

    def content(self, key_id: int) -> Content:
        return None if key_id in self.state.brokers else GONE  # it came again within the batch

    def committed(self, key_id: int, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.admission_deleted(key_id)
