"""Several `kedge serve` processes on one store: how they find each other, and where simulated brokers listen.

* One process per controller id, and one with simulated brokers, because what they copy stays within it. A second one
  ends at once, if the first one listens where it is registered.
* Controllers of other processes log in as gateways before they send requests to brokers of this one, with the secret
  of --peers-secret or one in the store.
* A process waits for the session of a dead one to end, unless it has the same addresses.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from ....stores import open_store
from ....stores.base import Entry, MetadataStore, StoreError
from ....stores.reading import read_whole
from ...codec import BadValue, broker, keys
from ...model.values import Endpoint
from ...wire import Peers
from ...wire.calls import Address
from ...wire.cluster_id import gateways_secret
from ...wire.listeners import OWN_LISTENER, is_every_address, is_loopback
from ...wire.peers.directory import AlreadyRunning, Directory, listens
from ...wire.security.acls import Acls, Authorizer, allow_all
from ...wire.security.tls import Tls
from ...wire.security.users import GATEWAY, Users
from ..printing import one_line, without_place
from ..store.meant import require_kind, require_room
from .options import CannotServe, Listening, Options
from .starting import require_there

_CALL_S: Final = 15.0
_LOOK_S: Final = 0.1
_MORE_S: Final = 10.0  # what a server may take to end a session beyond its time
_SECRET_MIN: Final = 8


def is_shared(options: Listening) -> bool:
    return options.url.partition(":")[0] != "memory"


def peers_of(options: Listening, shown: str, stack: ExitStack) -> Peers | None:
    """How the gateways of other processes are found; None where there can be none. CannotServe where another process
    has this controller id."""
    if not is_shared(options):
        if options.peers_secret is not None:
            _read(options.peers_secret)  # it is not needed, but a mistake in it is found
        return None
    given, tls = _secret(options), calling_tls(options)
    try:
        store = open_store(options.url)
        stack.callback(store.close)
        require_there(store, shown)  # before anything is written
        require_room(store)
        require_kind(store, kafka_brokers=options.kafka_brokers)
        Directory(store, options.node_id).require_alone()
        secret = gateways_secret(store) if given is None else given
    except AlreadyRunning as error:
        raise taken(options, error) from error
    except (StoreError, OSError, ValueError) as error:  # BadValue is a ValueError
        raise CannotServe(f"{shown}: {without_place(error)}") from error
    return Peers(store=store, secret=secret, tls=tls)


def taken(options: Listening, error: AlreadyRunning) -> CannotServe:
    return CannotServe(f"--node-id {options.node_id}: {one_line(error)}; give each process on the store another id")


def _secret(options: Listening) -> str | None:
    has_login = bool(options.users) or (options.tls is not None and options.tls[2] is not None)
    if options.peers_secret is None:
        if has_login or options.acls:
            raise CannotServe(
                "--peers-secret FILE is needed with logins or --acls on a shared store; the file holds a secret that "
                "all processes on the store have, and no client"
            )
        return None
    return _read(options.peers_secret)


def _read(file: Path) -> str:
    try:
        secret = read_whole(file, secret=True).decode("utf-8-sig").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise CannotServe(f"--peers-secret: {file}: {reason}") from error
    if len(secret) < _SECRET_MIN:
        raise CannotServe(f"--peers-secret: {file}: expected at least {_SECRET_MIN} characters, got {len(secret)}")
    return secret


def calling_tls(options: Listening) -> ssl.SSLContext | None:
    """How brokers and gateways elsewhere are called where this process has a certificate. Raises CannotServe."""
    if options.tls is None:
        return None
    certificate, key, clients_ca = options.tls
    signed_by = options.peers_ca or certificate
    try:
        context = ssl.create_default_context(cafile=signed_by)
        if clients_ca is not None:
            context.load_cert_chain(certificate, key)
    except OSError as error:  # which ssl.SSLError is
        raise CannotServe(f"--peers-ca: {signed_by}: {error.strerror or one_line(error)}") from error
    return context


def trusting_gateways(authorizer: Authorizer) -> Authorizer:
    """As `authorizer`, but gateways may do everything: their secret already lets them act as any client."""

    def permits(principal: str, operation: str, resource: str) -> bool:
        return principal == f"User:{GATEWAY}" or authorizer(principal, operation, resource)

    return permits


# --- simulated brokers


def endpoints(options: Options, addresses: Mapping[int, Address]) -> dict[int, Endpoint]:
    protocol = "PLAINTEXT" if options.tls is None else "SSL"
    if options.users or is_shared(options):  # other controllers log in there
        protocol = f"SASL_{protocol}"
    return {b: Endpoint(OWN_LISTENER, at.host, at.port, protocol) for b, at in addresses.items()}


def await_free(store: MetadataStore, wanted: Mapping[int, Endpoint]) -> None:
    """No other process has these brokers. CannotServe where one has that listens, or does not end in time."""
    until_s = time.monotonic() + store.session_timeout_s + _MORE_S
    while holder := _holder(store, wanted):
        broker_id, at = holder
        if listens(at) or time.monotonic() >= until_s:
            raise CannotServe(
                f"--brokers: broker {broker_id} is already registered at {at.host}:{at.port}; one process has all "
                "simulated brokers of a cluster: start this one with --broker-count 0"
            )
        time.sleep(_LOOK_S)


def _holder(store: MetadataStore, wanted: Mapping[int, Endpoint]) -> tuple[int, Address] | None:
    ids = sorted(wanted)
    store.get(keys.BROKER_IDS, sync=True, timeout_s=_CALL_S)
    for broker_id, entry in zip(ids, store.get_many([keys.broker(b) for b in ids], timeout_s=_CALL_S), strict=True):
        at = None if entry is None else _place(entry, broker_id)
        if at is not None and at != Address(wanted[broker_id].host, wanted[broker_id].port):
            return broker_id, at
    return None


def _place(entry: Entry, broker_id: int) -> Address | None:
    try:
        found = broker.decode(entry.value, broker_id)
    except (BadValue, ValueError, TypeError):
        return None  # what is wrong with it is said by registering
    first = found.endpoints[0] if found.endpoints else Endpoint("", found.host, found.port)
    return Address(first.host, first.port)


# --- clients


def authorizer_of(options: Listening) -> Authorizer:
    if not options.acls:
        return allow_all
    try:
        return Acls.from_file(*options.acls)
    except ValueError as error:
        raise CannotServe(f"--acls: {one_line(error)}") from error


def logins_of(options: Listening) -> tuple[Users | None, Tls | None]:
    """The users and the certificate; pages have no login. CannotServe where other machines could connect without a
    login."""
    for option, place in (("--status", options.status), ("--metrics", options.metrics), ("--listen", options.listen)):
        has_login = option == "--listen" and (options.users or (options.tls and options.tls[2]))
        if place is not None and not (is_loopback(place.host) or has_login or options.allow_anonymous):
            raise CannotServe(
                f"{option}: {place.host} lets other machines connect without a login; --allow-anonymous allows it"
            )
    if options.advertise is None and is_every_address(options.listen.host):
        raise CannotServe(
            f"--listen: {options.listen.host} is every address of this machine; add --advertise HOST, the name that "
            "clients connect to"
        )
    try:
        users = Users.from_file(*options.users) if options.users else None
    except ValueError as error:
        raise CannotServe(f"--users: {one_line(error)}") from error
    tls = None if options.tls is None else Tls(*options.tls)
    try:
        if tls is not None:
            tls.context()
    except OSError as error:
        of = "--tls-certificate" if error.filename is None else "--tls-key"  # ssl names no file
        raise CannotServe(f"{of}: {error.strerror or one_line(error)}") from error
    return users, tls
