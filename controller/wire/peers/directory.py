"""The addresses of gateways: `/kedge/gateways/<controller id>`, an ephemeral key with the address of the gateway and of
each broker that lives beside it; and the listeners that brokers registered. Only processes that may write to the store
are there, while every client with the right of a broker can register a listener."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from typing import Final

from ....stores.base import Conflict, Delete, Depth, Entry, MetadataStore, Put, SessionExpired, StoreError, as_read
from ....stores.recipes import reap_own_leftover
from ...codec import BadValue, broker, keys
from ...codec.small import decode_gateway, decode_gateway_brokers, encode_gateway
from ...model.errors import ControllerError
from ...model.values import Endpoint
from ..calls import Address
from ..security.reachable import connected

_TIMEOUT_S: Final = 5.0
_LISTENS_S: Final = 1.0
_TRIES: Final = 3


class AlreadyRunning(ControllerError):
    """Another process has a listening gateway under this controller's id."""


class Directory:
    """Of the gateway of one controller. Its calls wait for the store, and raise its errors."""

    def __init__(self, store: MetadataStore, controller_id: int) -> None:
        self._store = store
        self._controller_id = controller_id
        self._key = keys.gateway(controller_id)
        self._published: int | None = None
        self._endpoints: dict[int, tuple[Endpoint, ...]] = {}

    @property
    def is_published(self) -> bool:
        """Whether other gateways find this one, as far as is known without a request."""
        return self._published == self._store.session.session_id

    def publish(self, address: Address, brokers: Mapping[int, Address]) -> None:
        """Other gateways find this one there, and the `brokers` beside it, as long as this session lives. The key of an
        earlier session is deleted if its address no longer listens; if it does, AlreadyRunning is raised, because a
        controller has one gateway."""
        value = encode_gateway(address.host, address.port, {b: (at.host, at.port) for b, at in brokers.items()})
        for _ in range(_TRIES):
            session_id = self._store.session.session_id
            reap_own_leftover(self._store, self._key, lambda entry: not _is_running(entry, address), _TIMEOUT_S)
            entry = self._store.get(self._key, sync=True, timeout_s=_TIMEOUT_S)
            if entry is not None and entry.owner not in {None, session_id}:
                raise AlreadyRunning(self._said(entry))
            expected = as_read(entry)
            try:
                self._store.commit([Put(self._key, value, expected, ephemeral=True)], timeout_s=_TIMEOUT_S)
            except Conflict:
                continue  # another process was faster: look again
            except SessionExpired:  # this process was paused for longer than a session lives: the next session begins
                if not self._has_begun_another(session_id):
                    raise
                continue
            self._published = session_id
            return
        raise AlreadyRunning(f"other processes keep writing {self._key}")

    def _has_begun_another(self, session_id: int) -> bool:
        """Whether the store gets another session than this one, within the time of a call."""
        until_s = time.monotonic() + _TIMEOUT_S
        with closing(self._store.subscribe(self._key, Depth.SELF)) as events:
            while self._store.session.session_id == session_id:
                if events.poll(max(0.0, until_s - time.monotonic())) is None:
                    return False
        return True

    def require_alone(self) -> None:
        """Raises AlreadyRunning where another process has a gateway under this id at present."""
        entry = self._store.get(self._key, sync=True, timeout_s=_TIMEOUT_S)
        if entry is not None and entry.owner != self._store.session.session_id and _is_running(entry, None):
            raise AlreadyRunning(self._said(entry))

    def withdraw(self) -> None:
        """Other gateways no longer find this one."""
        entry = self._store.get(self._key, sync=True, timeout_s=_TIMEOUT_S)
        if entry is not None and entry.owner == self._store.session.session_id:
            with suppress(Conflict):  # another process wrote it again, so it is no longer this gateway's
                self._store.commit([Delete(self._key, entry.version)], timeout_s=_TIMEOUT_S)
        self._published = None

    def find(self, controller_id: int) -> Address | None:
        """The address of that controller's gateway; None where there is none, or it cannot be read."""
        entry = self._store.get(keys.gateway(controller_id), timeout_s=_TIMEOUT_S)
        return None if entry is None else _address(entry)

    def endpoints(self, broker_ids: Collection[int]) -> dict[int, tuple[Endpoint, ...]]:
        """The listeners that these brokers registered; the last known ones of brokers that are not registered now, and
        of all where the store does not answer."""
        ordered = sorted(broker_ids)
        with suppress(StoreError):
            entries = self._store.get_many([keys.broker(each) for each in ordered], timeout_s=_TIMEOUT_S)
            for entry in filter(None, entries):
                self._learn(entry)
        return {each: self._endpoints.get(each, ()) for each in ordered}

    def _learn(self, entry: Entry) -> None:
        broker_id = int(entry.key.rpartition("/")[2])
        with suppress(BadValue, ValueError, TypeError):
            self._endpoints[broker_id] = broker.decode(entry.value, broker_id).endpoints

    def _said(self, entry: Entry) -> str:
        at = _address(entry)
        where = "" if at is None else f", its gateway listens at {at.host}:{at.port}"
        return f"controller {self._controller_id} is already running{where}"


def _address(entry: Entry) -> Address | None:
    try:
        return Address(*decode_gateway(entry.value))
    except BadValue:
        return None


def is_beside_gateway(store: MetadataStore, broker_id: int, address: Address) -> bool:
    """Whether some gateway published this address of the broker. Raises StoreError."""
    ids = store.children(keys.GATEWAYS, timeout_s=_TIMEOUT_S)
    entries = store.get_many([f"{keys.GATEWAYS}/{each}" for each in ids], timeout_s=_TIMEOUT_S)
    at = (address.host, address.port)
    return any(entry is not None and _brokers(entry).get(broker_id) == at for entry in entries)


def _brokers(entry: Entry) -> Mapping[int, tuple[str, int]]:
    try:
        return decode_gateway_brokers(entry.value)
    except BadValue:
        return {}


def _is_running(entry: Entry, own: Address | None) -> bool:
    at = _address(entry)
    return at is not None and at != own and listens(at)


def listens(address: Address) -> bool:
    """Whether a process listens there, as far as can be found out from here."""
    try:
        connected(address.host, address.port, _LISTENS_S).close()
    except OSError:
        return False
    return True
