"""Several processes on one store: how they find each other, who has which id, and where simulated brokers listen.

Rules
* One process per controller id, and one that has simulated brokers: what they copy stays within it. Whoever comes
  second hears so at once, if the first one listens where it said that it does.
* Controllers of other processes log in as gateways before they order brokers of this one: by the secret of
  --peers-secret, or by one that the store holds.
* What a process that died left in the store is waited for until its session is over; a process that comes back where it
  was before need not wait.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from controller.cli.printing import one_line, without_place
from controller.cli.serve.options import CannotServe, Listening, Options
from controller.codec import BadValue, broker, keys
from controller.model.values import Endpoint
from controller.wire import Peers
from controller.wire.calls import Address
from controller.wire.cluster_id import gateways_secret
from controller.wire.peers.directory import AlreadyRunning, Directory, listens
from controller.wire.security.acls import Authorizer
from controller.wire.security.client import Credentials
from controller.wire.security.users import GATEWAY
from stores import open_store
from stores.base import Entry, MetadataStore, StoreError
from stores.reading import read_whole

LISTENER: Final = "KEDGE"
"""The listener of simulated brokers, by which every gateway tells clients where they are."""
_CALL_S: Final = 15.0
_LOOK_S: Final = 0.1
_MORE_S: Final = 10.0  # what a server may take to end a session beyond its time
_SECRET_MIN: Final = 8


def is_shared(options: Listening) -> bool:
    """Whether other processes may use the store at the same time."""
    return options.url.partition(":")[0] != "memory"


def peers_of(options: Listening, shown: str, stack: ExitStack) -> Peers | None:
    """How the gateways of other processes are found; None where there can be none. CannotServe where another process
    has this controller id."""
    if not is_shared(options):
        return None
    given, tls = _secret(options), _tls(options)
    try:
        store = open_store(options.url)
        stack.callback(store.close)
        Directory(store, options.node_id).require_alone()
        secret = gateways_secret(store) if given is None else given
    except AlreadyRunning as error:
        raise taken(options, error) from error
    except (StoreError, OSError, ValueError) as error:  # BadValue is a ValueError
        raise CannotServe(f"{shown}: {without_place(error)}") from error
    return Peers(store=store, secret=secret, tls=tls)


def login(peers: Peers) -> Credentials | None:
    """As whom brokers of other processes are told what to do."""
    return None if peers.secret is None else Credentials(GATEWAY, peers.secret, "SCRAM-SHA-256")


def taken(options: Listening, error: AlreadyRunning) -> CannotServe:
    """What is said of a controller id that another process has."""
    return CannotServe(f"--node-id {options.node_id}: {one_line(error)}: each process on a store has an id of its own")


def _secret(options: Listening) -> str | None:
    has_login = options.users is not None or (options.tls is not None and options.tls[2] is not None)
    if options.peers_secret is None:
        if has_login or options.acls is not None:
            raise CannotServe(
                "--peers-secret FILE is asked for where not everybody may do everything and others may share the "
                "store: it holds what all processes on it know, and nobody else"
            )
        return None
    try:
        secret = read_whole(options.peers_secret).decode().strip()
    except (OSError, UnicodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "no text"
        raise CannotServe(f"--peers-secret: {options.peers_secret}: {said}") from error
    if len(secret) < _SECRET_MIN:
        raise CannotServe(f"--peers-secret: {options.peers_secret}: less than {_SECRET_MIN} characters")
    return secret


def _tls(options: Listening) -> ssl.SSLContext | None:
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
    """As `authorizer`; gateways may do everything: who knows their secret is believed to be anybody, as it is."""

    def permits(principal: str, operation: str, resource: str) -> bool:
        return principal == f"User:{GATEWAY}" or authorizer(principal, operation, resource)

    return permits


# --- simulated brokers


def endpoints(options: Options, addresses: Mapping[int, Address]) -> dict[int, Endpoint]:
    """What brokers register that they listen at."""
    protocol = "PLAINTEXT" if options.tls is None else "SSL"
    if options.users is not None or is_shared(options):  # other controllers log in there
        protocol = f"SASL_{protocol}"
    return {b: Endpoint(LISTENER, at.host, at.port, protocol) for b, at in addresses.items()}


def await_free(store: MetadataStore, wanted: Mapping[int, Endpoint]) -> None:
    """No other process has these brokers. CannotServe where one has that listens, or does not end in time."""
    until_s = time.monotonic() + store.session_timeout_s + _MORE_S
    while holder := _holder(store, wanted):
        broker_id, at = holder
        if listens(at) or time.monotonic() >= until_s:
            raise CannotServe(
                f"--brokers: broker {broker_id} is registered already, at {at.host}:{at.port}: simulated brokers of a "
                "cluster live in one process; beside it goes --brokers 0"
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
