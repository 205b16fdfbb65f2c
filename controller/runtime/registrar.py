"""Registers this host's own brokers.

Rules
* A registration is an ephemeral key in a store session of its own, so it outlives the controller of this host.
* The host's call writes the key, not a commit of the controller, so it works on a stand-by too.
* A broker whose session was lost is registered again under a new broker epoch and the same id, also a generated one.
* A registration names the controller that wrote it (`registered_by`, its node id). A restarted process replaces its own
  former registration, and never that of another live process, even with the same host and port.
"""

from __future__ import annotations

import threading
from typing import Final

import attrs

from ...stores.base import Closed, Conflict, Corrupt, Entry, MetadataStore, Put, SessionExpired, StoreError, as_read
from ...stores.recipes import next_number, reap_own_leftover
from ..codec import BadValue, keys
from ..codec import broker as codec
from ..model.errors import DuplicateBrokerRegistration, StaleBrokerEpoch
from ..model.requests import BROKER_ID_MAX
from ..model.values import NEW_BROKER_ID, BrokerRegistration, Endpoint
from .clock import Clock

_IDS_MAX: Final = 1000  # how many generated ids in use are skipped before it gives up


@attrs.define(eq=False)
class _Own:
    """A broker that this host registered."""

    registration: BrokerRegistration
    store: MetadataStore
    session_id: int
    epoch: int


class Registrar:
    """Thread-safe: brokers register from the host's threads, and the runtime's threads watch their sessions."""

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
        self.findings: dict[str, str] = {}  # own brokers that could not be registered again

    def generate_id(self) -> int:
        """A broker id above the reserved ones that was never generated before and is not in use. Raises StoreError,
        such as Corrupt if no id is left."""
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
        """The latest epoch of each broker of this host, by id."""
        return {broker_id: own.epoch for broker_id, own in list(self._own.items())}

    def register(self, registration: BrokerRegistration) -> int:
        """Register a broker and return its epoch. NEW_BROKER_ID gets a new id first. Registering again with other
        endpoints or another rack keeps the epoch.

        Raises TypeError or ValueError for a registration that could not be read, DuplicateBrokerRegistration if another
        process has registered the id (a registration left by this process is replaced), StoreError if the store cannot
        be reached (then repeat the call; the broker may or may not be registered).
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
        """Remove the broker's registration and its session. StaleBrokerEpoch if `epoch` is not its latest one, or this
        host did not register the broker, which is then unchanged."""
        with self._lock:
            own = self._own.get(broker_id)
            if own is None or own.epoch != epoch:
                known = "not registered here" if own is None else f"registered under epoch {own.epoch}"
                raise StaleBrokerEpoch(f"broker {broker_id} with epoch {epoch} is {known}")
            del self._own[broker_id]
            self.findings.pop(keys.broker(broker_id), None)
            own.store.close()

    def epoch_of(self, broker_id: int) -> int | None:
        """The latest epoch under which this host registered the broker."""
        own = self._own.get(broker_id)
        return None if own is None else own.epoch

    @property
    def has_lost_sessions(self) -> bool:
        """Whether a broker must be registered again."""
        return any(own.store.session.session_id != own.session_id for own in list(self._own.values()))

    def watch(self) -> None:
        """Register brokers with a lost session again. Never raises: failures are tried again with the next call."""
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
        """Unregister all brokers of this host, by ending their sessions."""
        with self._lock:
            self._closed = True
            for own in self._own.values():
                own.store.close()
            self._own = {}

    def _write_in_a_session(self, own: _Own, registration: BrokerRegistration) -> None:
        """As `_write`, with a new session if the present one has expired, as in a process that was suspended for longer
        than a session. It does not wait for the client to start the next one."""
        try:
            self._write(own, registration)
        except SessionExpired:
            ended, own.store = own.store, self._store.another_session()
            ended.close()
            self._write(own, registration)

    def _write(self, own: _Own, registration: BrokerRegistration) -> None:
        """Write the registration to the key and to `own`; after an error `own` is unchanged."""
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
                    [Put(key, value, as_read(entry), ephemeral=True)],
                    timeout_s=self._timeout_s,
                )
            except Conflict:
                continue  # another program was faster: read the key again
            written = store.get(key, sync=True, timeout_s=self._timeout_s)
            if written is not None and written.owner == session_id:
                own.registration, own.epoch, own.session_id = registration, written.created, session_id
                return
        raise DuplicateBrokerRegistration(f"broker {registration.broker_id}: other processes keep writing its key")

    def _signed(self, registration: BrokerRegistration) -> BrokerRegistration:
        """The registration as written, with the id of the process that owns it."""
        if self._node_id is None:
            return registration
        return attrs.evolve(registration, extra={**(registration.extra or {}), codec.REGISTERED_BY: self._node_id})

    def _make_way(self, own: _Own, registration: BrokerRegistration, key: str, entry: Entry) -> None:
        """Delete a registration that an earlier session of this process left; any other stays."""
        ours = _process(self._signed(registration))
        if not reap_own_leftover(
            own.store, key, lambda found: _process(_read(found, registration)) == ours, self._timeout_s
        ):
            raise DuplicateBrokerRegistration(_refusal(_read(entry, registration), registration.broker_id))


def _check(registration: BrokerRegistration, version: int, now_ms: int) -> None:
    """Raise TypeError or ValueError for a registration that could not be read."""
    if any(not isinstance(endpoint, Endpoint) for endpoint in registration.endpoints):
        raise TypeError(f"endpoints must hold Endpoint only, not {registration.endpoints!r:.200}")
    codec.decode(codec.encode(registration, version, now_ms), registration.broker_id)


def _read(entry: Entry, registration: BrokerRegistration) -> BrokerRegistration | None:
    """The registration in a key; None if it cannot be read."""
    try:
        return codec.decode(entry.value, registration.broker_id)
    except (BadValue, ValueError, TypeError):
        return None


def _process(registration: BrokerRegistration | None) -> tuple[str, int, object] | None:
    if registration is None:
        return None
    return registration.host, registration.port, (registration.extra or {}).get(codec.REGISTERED_BY)


def _refusal(found: BrokerRegistration | None, broker_id: int) -> str:
    if found is None:
        return f"broker {broker_id} is registered already by another process, and its registration cannot be read"
    node_id = (found.extra or {}).get(codec.REGISTERED_BY)
    whose = "another process" if node_id is None else f"the process of controller {node_id}"
    return (
        f"broker {broker_id} is registered already at {found.host}:{found.port} by {whose}: "
        "give this broker another id, or wait until that process has ended and its session is over"
    )
