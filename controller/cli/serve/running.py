"""What `kedge serve` runs: the cluster, its gateway and its pages, started together and ended together."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import attrs

from ....stores import open_store, public_url
from ....stores.base import StoreError
from ...codec import BadValue
from ...control import Control
from ...groups.requests import GroupSettings
from ...model.errors import ControllerError, DuplicateBrokerRegistration
from ...runtime.gc_tuning import many_stay, short_turns, tuned
from ...server import LiveCluster, LiveServer
from ...wire import Gateway, Peers
from ...wire.calls import Address
from ...wire.cluster_id import cluster_id
from ...wire.listeners import OWN_LISTENER
from ...wire.peers.directory import AlreadyRunning
from ...wire.records import with_records
from ...wire.remote import RemoteHost, with_orders, with_remote_brokers
from ..printing import one_line, without_place
from . import sharing
from .controlled import obey
from .options import CannotServe, Listening, Options, Place
from .pages import Page, Pages, metrics_page
from .starting import create, journals, require_there
from .status import Recent, Status

READY_S: Final = 60.0


@attrs.frozen
class Running:
    """What runs, and where. `cluster`: its brokers and its controller. `status`, `metrics`: urls, None for none.
    `active_id`: the active controller just now. `save`: saves what changed in the file of a memory store, or raises
    OSError; None where there is no file."""

    cluster: LiveCluster
    cluster_id: str
    controller_id: int
    active_id: int | None
    bootstrap: Address
    brokers: Mapping[int, Address]
    status: str | None
    metrics: str | None
    save: Callable[[], None] | None


@contextmanager
def running(options: Options) -> Iterator[Running]:
    with ExitStack() as stack:
        yield _begin(options, stack)


def _begin(options: Options, stack: ExitStack) -> Running:
    users, tls = sharing.logins_of(options)
    authorizer = sharing.trusting_gateways(sharing.authorizer_of(options))
    shown = public_url(options.url).removesuffix(":")
    peers = sharing.peers_of(options, shown, stack)
    recent = Recent()
    cluster = _cluster(options, shown, peers, recent, stack)
    with in_the_store(shown):
        known_as = _cluster_id(cluster.server, options.seed, shown)
        cluster.start_controllers()
    with_own = with_records(
        cluster.logs,
        cluster.groups,
        transactions=cluster.transactions,
        creates_topics=options.creates_topics,
        settings=GroupSettings(initial_rebalance_delay_ms=options.rebalance_delay_ms),
        offsets_partitions=options.offsets_partitions,
    )
    apis = with_remote_brokers(with_own)
    apis = apis if peers is None else with_orders(cluster.host, apis)  # of controllers in other processes
    control = None if options.control is None else Control(cluster, apis)
    gateway = Gateway(
        cluster.controller,
        options.listen.host,
        options.listen.port,
        advertised=options.advertise,
        broker_listener=[OWN_LISTENER, *([options.broker_listener] if options.broker_listener else [])],
        cluster_id=known_as,
        apis=apis if control is None else control.apis,
        users=users,
        tls=tls,
        authorizer=authorizer,
        allow_anonymous=options.allow_anonymous,
        peers=peers,
    )
    with listening("--listen", options.listen), alone(options):
        bootstrap = stack.enter_context(gateway).address
    if peers is not None:
        stack.callback(cluster.close)  # before the gateway, by which the next active controller still reaches brokers
    reached = gateway.addresses(options.brokers)
    _start_brokers(options, cluster, gateway, peers, shown)
    create(cluster.controller, gateway.asking, options.topics, READY_S)
    about = {"cluster_id": known_as, "store": shown, "listen": f"{bootstrap.host}:{bootstrap.port}"}
    status = Status(lambda: cluster.controller, cluster, recent, gateway.counts, about)
    of_status = _status(options, status, stack)
    of_metrics = None
    if options.metrics is not None:
        page = metrics_page(
            lambda: [cluster.controller.metrics, gateway.metrics, *(meters.metrics for meters in cluster.meters())]
        )
        of_metrics = f"{at_place('--metrics', options.metrics, {'/metrics': page}, options, stack)}metrics"
    if options.control is not None and control is not None:
        control.begin(gateway)
        obey(options.control, control)
    many_stay()  # those of requests soon die, and a full collection for each few of them would stop all clients
    active_id = cluster.controller.active_id
    save = None if cluster.server.file is None else _saving(cluster.server)
    return Running(cluster, known_as, options.node_id, active_id, bootstrap, reached, of_status, of_metrics, save)


def _cluster(options: Options, shown: str, peers: Peers | None, recent: Recent, stack: ExitStack) -> LiveCluster:
    remote = RemoteHost(tls=sharing.calling_tls(options), peers=peers, networks=options.broker_networks)
    stack.callback(remote.close)
    stack.enter_context(tuned())
    stack.enter_context(short_turns())
    cluster = LiveCluster(
        _server(options.url, shown),
        options.brokers,
        first_id=options.node_id,
        seed=options.seed,
        copy_rate_bytes_s=options.copy_rate_bytes_s,
        retention_bytes=options.retention_bytes,
        journal=journals(options, recent.sink),
        others=lambda: remote,
    )
    stack.callback(_closed, cluster, shown)
    return cluster


def _start_brokers(options: Options, cluster: LiveCluster, gateway: Gateway, peers: Peers | None, shown: str) -> None:
    """They listen where clients reach them, and a controller is active when this returns."""
    places = sharing.endpoints(options, gateway.addresses(options.brokers))
    cluster.listen(places)
    with in_the_store(shown):
        if peers is not None and gateway.asking is not None:
            cluster.asks(gateway.asking)
            sharing.await_free(peers.store, places)
        cluster.start()
        cluster.until_ready(READY_S)


@contextmanager
def in_the_store(shown: str) -> Iterator[None]:
    try:
        yield
    except DuplicateBrokerRegistration as error:
        raise CannotServe(f"--brokers: {one_line(error)}") from error
    except (StoreError, OSError, BadValue, ControllerError) as error:  # TimeoutError is an OSError
        raise CannotServe(f"{shown}: {without_place(error)}") from error


@contextmanager
def alone(options: Listening) -> Iterator[None]:
    try:
        yield
    except AlreadyRunning as error:
        raise sharing.taken(options, error) from error


def _cluster_id(server: LiveServer, seed: int | None, shown: str) -> str:
    client = server.client()
    try:
        require_there(client, shown)
        return cluster_id(client, seed)
    finally:
        client.close()


def _server(url: str, shown: str) -> LiveServer:
    scheme, _, rest = url.partition(":")
    try:
        if scheme == "memory":
            server = LiveServer(file=rest or None)
            if rest:
                server.save()  # so that a file that cannot be written is found now
            return server
        return LiveServer(lambda: open_store(url))
    except (StoreError, OSError, ValueError) as error:
        raise CannotServe(f"{shown}: {without_place(error)}") from error


def _saving(server: LiveServer) -> Callable[[], None]:
    saved: int | None = None

    def save() -> None:
        nonlocal saved
        revision = server.revision
        if revision != saved:
            server.save()
            saved = revision

    return save


def _closed(cluster: LiveCluster, shown: str) -> None:
    try:
        cluster.close()
    except OSError as error:  # a file whose folder went, or a disk that is full
        raise CannotServe(f"{shown}: the last changes were not saved: {without_place(error)}") from error


def _status(options: Options, status: Status, stack: ExitStack) -> str | None:
    if options.status is None:
        return None
    pages = stack.enter_context(status).pages()
    try:
        return at_place("--status", options.status, pages, options, stack)
    except CannotServe:
        if not options.status_may_be_elsewhere:
            raise
        return at_place("--status", Place(options.status.host, 0), pages, options, stack)


def at_place(option: str, place: Place, pages: Mapping[str, Page], options: Listening, stack: ExitStack) -> str:
    """The url of these pages, which are served until the stack ends. Raises CannotServe."""
    names = () if options.advertise is None else (options.advertise,)
    with listening(option, place):
        return f"http://{stack.enter_context(Pages(place, pages, names)).place}/"


@contextmanager
def listening(option: str, place: Place) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        has_words = error.errno is None or isinstance(error, socket.gaierror)
        words = os.strerror(error.errno or 0)  # asyncio's own are long
        reason = (error.strerror or one_line(error)) if has_words else words
        raise CannotServe(f"{option} {place}: {reason}") from error


def as_json(found: Running) -> dict[str, Any]:
    return {
        "cluster_id": found.cluster_id,
        "controller": found.controller_id,
        "active": found.active_id,
        "bootstrap": _text(found.bootstrap),
        "brokers": {str(broker): _text(address) for broker, address in found.brokers.items()},
        "status": found.status,
        "metrics": found.metrics,
    }


def _text(address: Address) -> str:
    return str(Place(address.host, address.port))
