"""The host that reaches brokers by TCP, at the listener that the broker registered.

A callback runs on the thread of its broker, one at a time. It ends with the broker's answer, or with NotDelivered, and
then the controller tries again by itself. A connection is kept, and renewed after a failure or when the broker has
another epoch, because its address may have changed. A failure on a kept connection is tried once more on a new one,
since the broker may have closed it long ago; every request may be repeated without harm.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from ....stores.base import StoreError
from ...host import Controller
from ...model.host import (
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import Broker, BrokerRegistration, Endpoint
from ..calls import Address
from ..link import Link, NotDelivered
from ..messages import messages_of
from ..peers import Peers
from ..peers.directory import is_beside_gateway
from ..protocol import Messages
from ..security import reachable
from ..security.client import Credentials
from ..security.gateways import login_at
from ..security.sasl import PLAIN
from . import orders
from .bodies import DIFFERS, InCommon, leader_and_isr
from .orders import Fields, Ordered

TIMEOUT_S: Final = 10.0
_LEADER_AND_ISR: Final = messages_of("LeaderAndIsr")
_STOP_REPLICA: Final = messages_of("StopReplica")
_UPDATE_METADATA: Final = messages_of("UpdateMetadata")

Logins: TypeAlias = Credentials | Mapping[int, Credentials]
"""For all brokers, or by broker id."""
_Asked: TypeAlias = tuple[Fields] | tuple[Fields, tuple[str, bytes]]
"""The fields of a message; perhaps those up to one, and the bytes behind it."""


@attrs.frozen
class _Kept:
    """A connection to the broker, with the broker's epoch at its creation."""

    link: Link
    broker_epoch: int


class RemoteHost:
    """Implements `kedge.controller.model.host.Host` for brokers that are processes elsewhere. `timeout_s`: for the
    connection to a broker, and for each of its answers. The controller must run in threads (`start()`): callbacks ask
    it for a broker's address. `listener`: the name of the brokers' listener to connect to; without it, their first one.
    `tls`: brokers are called by TLS only; a client's context, which checks their certificates. `login`: brokers are
    called only where they require a login. A registration that offers less gets no orders. A `login` for all brokers
    trusts all their owners: each of them can pass it on to another broker, and be the controller there; with one by
    broker id, a broker without an entry gets no orders. `plain_without_tls`: a login by PLAIN may send its password in
    clear, to whatever address was registered. `peers`: brokers beside the
    gateways of other controllers are called as these say; their secret goes to addresses that gateways published, and
    to no other. `networks`: those in which brokers may be, like 10.0.0.0/8; empty: see `security.reachable`. Raises
    ValueError for a time that is not positive, no network, and for PLAIN without TLS where that is not allowed.
    """

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
        login: Logins | None = None,
        plain_without_tls: bool = False,
        listener: str | None = None,
        peers: Peers | None = None,
        networks: Iterable[str] = (),
    ) -> None:
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be positive, not {timeout_s!r:.80}")
        if tls is None and not plain_without_tls and any(each.mechanism == PLAIN for each in _each(login)):
            raise ValueError("PLAIN sends the password in clear: expected tls=..., or plain_without_tls=True")
        self._timeout_s = timeout_s
        self._tls = tls
        self._login = login
        self._listener = listener
        self._peers = peers
        self._within = reachable.networks(networks)
        self._controller: Controller | None = None
        self._kept: dict[int, _Kept] = {}
        self._fresh: set[int] = set()  # brokers whose connection has its first request
        self._in_common = InCommon(_UPDATE_METADATA)
        self._lock = threading.Lock()

    def attach(self, controller: Controller) -> None:
        """Set the controller that knows the brokers' addresses: after its creation, which takes this host, and before
        its `start()`."""
        self._controller = controller

    def close(self) -> None:
        """All connections are closed; a later call opens a new one."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for each in kept.values():
            each.link.close()

    def connect(self, found: BrokerRegistration) -> Link:
        """A new connection to the address that a broker registered, here or at another controller's gateway, which the
        caller closes. Raises NotDelivered."""
        first = self._endpoint(found)
        address = Address(first.host, first.port)
        if self._peers is not None and self._is_beside_gateway(self._peers, found.broker_id, address):
            secret = self._peers.secret
            login = None if secret is None else login_at(secret, address.host, address.port)
            return Link(address, self._timeout_s, self._peers.tls, login)
        own = self._login.get(found.broker_id) if isinstance(self._login, Mapping) else self._login
        has_tls, has_login = first.protocol.endswith("SSL"), first.protocol.startswith("SASL")
        problem = None
        if first.protocol not in orders.PROTOCOLS:
            problem = "which this host does not support"
        elif has_tls is not (self._tls is not None):
            problem = "but this host has no TLS context" if has_tls else "but this host calls brokers by TLS only"
        elif has_login and own is None:
            problem = "but this host has no credentials for a login"
        elif not has_login and self._login is not None:
            problem = "but this host has to log in"
        if problem is not None:
            raise NotDelivered(f"broker {found.broker_id} listens with {first.protocol}, {problem}")
        return Link(address, self._timeout_s, self._tls, own, self._within)

    @staticmethod
    def _is_beside_gateway(peers: Peers, broker_id: int, address: Address) -> bool:
        try:
            return is_beside_gateway(peers.store, broker_id, address)
        except StoreError as error:
            raise NotDelivered(f"the gateways in the store are not known: {error!r:.200}") from error

    # --- the callbacks

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """As `Host`."""
        fields = orders.before_partitions(request)

        def made(version: int) -> list[_Asked]:
            return [(fields, (DIFFERS, leader_and_isr(_LEADER_AND_ISR, request, version)))]

        return self._told(_LEADER_AND_ISR, request, made)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """As `Host`."""
        live = {peer.broker_id for peer in request.live_brokers}
        for gone in list(self._kept.keys() - live - self._fresh):
            self._drop(gone)  # its connection would stay for ever; one in use is opened again
        fields = orders.before_partitions(request)

        def made(version: int) -> list[_Asked]:
            return [(fields, (DIFFERS, self._in_common.of(request, version)))]

        return self._told(_UPDATE_METADATA, request, made)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """As `Host`."""
        return self._told(
            _STOP_REPLICA, request, lambda version: [(fields,) for fields in orders.stop_replica(request, version)]
        )

    def _told(self, api: Messages, request: Ordered, made: Callable[[int], list[_Asked]]) -> HostResponse:
        """The broker's answer; `made` returns the messages in a version. Raises NotDelivered."""
        kept = self._kept_for(request)
        if kept is not None:
            try:
                return self._asked(kept, api, request, made)
            except NotDelivered:
                self._drop(request.broker_id)
        link = self.connect(self._registered(request))
        self._fresh.add(request.broker_id)
        with self._lock:
            fresh = self._kept[request.broker_id] = _Kept(link, request.broker_epoch)
        try:
            return self._asked(fresh, api, request, made)
        except NotDelivered:
            self._drop(request.broker_id)
            raise
        finally:
            self._fresh.discard(request.broker_id)

    def _asked(self, kept: _Kept, api: Messages, request: Ordered, made: Callable[[int], list[_Asked]]) -> HostResponse:
        version = kept.link.version_of(api)
        answers = [orders.answered(kept.link.ask(api, version, *asked), request) for asked in made(version)]
        errors: dict[Any, Any] = {}
        for answer in answers:
            if answer.error:
                return answer
            errors |= answer.errors
        return HostResponse(errors=errors)

    def _kept_for(self, request: Ordered) -> _Kept | None:
        """The existing connection to the broker under this epoch."""
        kept = self._kept.get(request.broker_id)
        if kept is not None and kept.broker_epoch != request.broker_epoch:
            self._drop(request.broker_id)
            return None
        return kept

    def _drop(self, broker_id: int) -> None:
        with self._lock:
            kept = self._kept.pop(broker_id, None)
        if kept is not None:
            kept.link.close()

    def _endpoint(self, found: BrokerRegistration) -> Endpoint:
        """Raises NotDelivered where the broker has no listener of the wanted name."""
        if self._listener is None:
            return found.endpoints[0] if found.endpoints else Endpoint("", found.host, found.port)
        for endpoint in found.endpoints:
            if endpoint.listener == self._listener:
                return endpoint
        names = ", ".join(endpoint.listener for endpoint in found.endpoints)
        raise NotDelivered(f"broker {found.broker_id} has no listener {self._listener}, only {names}")

    def _registered(self, request: Ordered) -> BrokerRegistration:
        if self._controller is None:
            raise NotDelivered("no controller is attached, so the addresses of brokers are unknown")
        ask = self._controller.query(lambda view: view.brokers.get(request.broker_id))
        found: Broker | None = ask.result(self._timeout_s)
        if found is None or found.epoch != request.broker_epoch:
            raise NotDelivered(f"broker {request.broker_id} is not registered under epoch {request.broker_epoch}")
        return found.registration


def _each(login: Logins | None) -> Iterable[Credentials]:
    if isinstance(login, Mapping):
        return login.values()
    return () if login is None else (login,)
