"""Registers this host's own brokers.

Rules
* A registration is an ephemeral key in a store session of its own, so it outlives the controller of this host.
* The host's call writes the key, not a commit of the controller: so it works on a stand-by, too.
* A broker whose session was lost is registered again under a new broker epoch and the same id, also a generated one.
* A registration names the controller that wrote it (`registered_by`, its node id). A restarted process replaces the one
  that it left behind, and never one of another live process, even if host and port are the same.
"""

from __future__ import annotations

import threading
from typing import Final

import attrs

from controller.codec import BadValue, keys
from controller.codec import broker as codec
from controller.model.errors import DuplicateBrokerRegistration, StaleBrokerEpoch
from controller.model.requests import BROKER_ID_MAX
from controller.model.values import NEW_BROKER_ID, BrokerRegistration, Endpoint
from controller.runtime.clock import Clock
from stores.base import ABSENT, Closed, Conflict, Corrupt, Entry, MetadataStore, Put, SessionExpired, StoreError
from stores.recipes import next_number, reap_own_leftover

_IDS_MAX: Final = 1000  # generated ids that are passed over since somebody has them, before it is given up


@attrs.define(eq=False)
class _Own:
    """A broker that this host registered."""

    registration: BrokerRegistration
    store: MetadataStore
    session_id: int
    epoch: int


class Registrar:
    """Thread-safe: brokers register from the host's threads, sessions are watched by the runtime's."""

    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        version: int,
        timeout_s: float,
        reserved_id_max: int = 1000,
        *,
        node_id: int | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._version = version
        self._timeout_s = timeout_s
        self._reserved_id_max = reserved_id_max
        self._node_id = node_id
        self._lock = threading.RLock()
        self._own: dict[int, _Own] = {}
        self._closed = False
        self.findings: dict[str, str] = {}  # own brokers that could not be registered again, for people

    def generate_id(self) -> int:
        """A broker id above the reserved ones that nobody else was given, and that is not in use. Raises StoreError,
        and Corrupt (one) where no id is left."""
        for _ in range(_IDS_MAX):
            found = self._reserved_id_max + next_number(self._store, keys.BROKER_SEQUENCE, self._timeout_s)
            if found > BROKER_ID_MAX:
                raise Corrupt(f"{keys.BROKER_SEQUENCE}: no broker id is left below {found}", key=keys.BROKER_SEQUENCE)
            taken = self._store.get_many([keys.broker(found), keys.admitted(found)], timeout_s=self._timeout_s)
            if taken == [None, None]:
                return found
        raise Corrupt(f"{keys.BROKER_SEQUENCE}: {_IDS_MAX} ids in a row are in use", key=keys.BROKER_SEQUENCE)

    @property
    def epochs(self) -> dict[int, int]:
        """The epoch under which this host registered each of its brokers last, by id."""
        return {broker_id: own.epoch for broker_id, own in list(self._own.items())}

    def register(self, registration: BrokerRegistration) -> int:
        """The broker is registered; its epoch. One that asks for a new id gets it first. Registering again with other
        endpoints or another rack keeps the epoch.

        Raises TypeError or ValueError for what nobody could read, DuplicateBrokerRegistration where another
        process has registered the id (a leftover of this one's former self is replaced), StoreError where the store
        cannot be reached (nothing is registered then, or the call may be repeated).
        """
        _check(registration, self._version, self._clock.now_ms())
        with self._lock:
            if self._closed:
                raise Closed("the controller was closed")
            if registration.broker_id == NEW_BROKER_ID:
                registration = attrs.evolve(registration, broker_id=self.generate_id())
            own = self._own.get(registration.broker_id)
            if own is None:
                store = self._store.another_session()
                own = _Own(registration, store, store.session.session_id, 0)
            try:
                self._write_in_a_session(own, registration)
            except Exception:
                if registration.broker_id not in self._own:
                    own.store.close()
                raise
            self._own[registration.broker_id] = own
            self.findings.pop(keys.broker(registration.broker_id), None)
            return own.epoch

    def unregister(self, broker_id: int, epoch: int) -> None:
        """The broker's registration is gone, and with it its session. StaleBrokerEpoch for another epoch than the one
        that was given last; a broker that this host did not register is left alone (the same error)."""
        with self._lock:
            own = self._own.get(broker_id)
            if own is None or own.epoch != epoch:
                known = "not registered here" if own is None else f"registered under epoch {own.epoch}"
                raise StaleBrokerEpoch(f"broker {broker_id} with epoch {epoch} is {known}")
            del self._own[broker_id]
            self.findings.pop(keys.broker(broker_id), None)
            own.store.close()

    def epoch_of(self, broker_id: int) -> int | None:
        """The epoch under which this host registered the broker last."""
        own = self._own.get(broker_id)
        return None if own is None else own.epoch

    @property
    def has_lost_sessions(self) -> bool:
        """Whether there is something to register again."""
        return any(own.store.session.session_id != own.session_id for own in list(self._own.values()))

    def watch(self) -> None:
        """Register those again whose session was lost. Never raises: what fails is tried with the next call."""
        if not self.has_lost_sessions:
            return
        with self._lock:
            for own in self._own.values():
                if own.store.session.session_id != own.session_id and own.store.session.connected:
                    key = keys.broker(own.registration.broker_id)
                    try:
                        self._write(own, own.registration)
                        self.findings.pop(key, None)
                    except (StoreError, DuplicateBrokerRegistration) as error:
                        self.findings[key] = f"not registered again: {error}"

    def close(self) -> None:
        """Every own broker is unregistered: its session ends."""
        with self._lock:
            self._closed = True
            for own in self._own.values():
                own.store.close()
            self._own = {}

    def _write_in_a_session(self, own: _Own, registration: BrokerRegistration) -> None:
        """As `_write`. A process that stood still for longer than a session lives finds its session ended, even one
        that was begun just now: the next one is not waited for but begun."""
        try:
            self._write(own, registration)
        except SessionExpired:
            ended, own.store = own.store, self._store.another_session()
            ended.close()
            self._write(own, registration)

    def _write(self, own: _Own, registration: BrokerRegistration) -> None:
        """The key says `registration`, and so does `own`; one that fails leaves `own` as it was."""
        store = own.store
        key = keys.broker(registration.broker_id)
        value = codec.encode(self._signed(registration), self._version, self._clock.now_ms())
        session_id = store.session.session_id
        for _ in range(3):
            entry = store.get(key, sync=True, timeout_s=self._timeout_s)
            if entry is not None and entry.owner != session_id:
                self._make_way(own, registration, key, entry)
                entry = None
            try:
                store.commit(
                    [Put(key, value, ABSENT if entry is None else entry.version, ephemeral=True)],
                    timeout_s=self._timeout_s,
                )
            except Conflict:
                continue  # somebody was faster: look who
            written = store.get(key, sync=True, timeout_s=self._timeout_s)
            if written is not None and written.owner == session_id:
                own.registration, own.epoch, own.session_id = registration, written.created, session_id
                return
        raise DuplicateBrokerRegistration(f"broker {registration.broker_id}: its key is written by others all the time")

    def _signed(self, registration: BrokerRegistration) -> BrokerRegistration:
        """The registration as it is written, with the process that it is of."""
        if self._node_id is None:
            return registration
        return attrs.evolve(registration, extra={**(registration.extra or {}), codec.REGISTERED_BY: self._node_id})

    def _make_way(self, own: _Own, registration: BrokerRegistration, key: str, entry: Entry) -> None:
        """A registration that an earlier session of this process left behind goes; anybody else's stays."""
        ours = _process(self._signed(registration))
        if not reap_own_leftover(
            own.store, key, lambda found: _process(_read(found, registration)) == ours, self._timeout_s
        ):
            raise DuplicateBrokerRegistration(_refusal(_read(entry, registration), registration.broker_id))


def _check(registration: BrokerRegistration, version: int, now_ms: int) -> None:
    """Raise TypeError or ValueError for a registration that nobody could read."""
    if any(not isinstance(endpoint, Endpoint) for endpoint in registration.endpoints):
        raise TypeError(f"endpoints hold Endpoint only: {registration.endpoints!r:.200}")
    codec.decode(codec.encode(registration, version, now_ms), registration.broker_id)


def _read(entry: Entry, registration: BrokerRegistration) -> BrokerRegistration | None:
    """Who is registered; None where that cannot be read."""
    try:
        return codec.decode(entry.value, registration.broker_id)
    except (BadValue, ValueError, TypeError):
        return None


def _process(registration: BrokerRegistration | None) -> tuple[str, int, object] | None:
    """What tells the process that a broker belongs to."""
    if registration is None:
        return None
    return registration.host, registration.port, (registration.extra or {}).get(codec.REGISTERED_BY)


def _refusal(found: BrokerRegistration | None, broker_id: int) -> str:
    if found is None:
        return f"broker {broker_id} is registered by another process already, and its registration cannot be read"
    node_id = (found.extra or {}).get(codec.REGISTERED_BY)
    whose = "another process" if node_id is None else f"the process of controller {node_id}"
    return (
        f"broker {broker_id} is registered already at {found.host}:{found.port} by {whose}: "
        "give this broker another id, or wait until that process has left and its session is over"
    )
