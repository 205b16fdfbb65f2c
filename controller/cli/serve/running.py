"""What `kedge serve` runs, put together: the cluster, the gateway before it, the pages beside it; and its end."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import attrs

from controller.cli.printing import one_line, without_place
from controller.cli.serve.options import Place
from controller.cli.serve.pages import Page, Pages
from controller.cli.serve.status import Recent, Status
from controller.codec import BadValue
from controller.model.errors import ApiError, ControllerError, TopicAlreadyExists
from controller.model.requests import NewTopic
from controller.rig.live import LiveCluster, LiveServer
from controller.runtime.journal import Journal
from controller.wire import Gateway
from controller.wire.calls import Address
from controller.wire.cluster_id import cluster_id
from controller.wire.data import with_logs
from controller.wire.listeners import is_every_address, is_loopback
from controller.wire.remote import RemoteHost, with_remote_brokers
from controller.wire.security.acls import Acls, Authorizer, allow_all
from controller.wire.security.tls import Tls
from controller.wire.security.users import Users
from stores import open_store, public_url
from stores.base import StoreError

READY_S: Final = 60.0
STATUS_PORT: Final = 8480


class CannotServe(Exception):
    """What was asked for cannot be had: one line that says why."""


@attrs.frozen(kw_only=True)
class Options:
    """What to run. `status`: None for no page; `status_may_be_elsewhere`: any free port will do if that is taken."""

    url: str
    listen: Place
    advertise: str | None
    broker_listener: str | None
    brokers: Mapping[int, str | None]
    topics: Mapping[str, NewTopic]
    seed: int | None
    copy_rate_bytes_s: int | None
    retention_bytes: int
    status: Place | None
    status_may_be_elsewhere: bool
    metrics: Place | None
    users: Path | None
    acls: Path | None
    tls: tuple[Path, Path, Path | None] | None
    """Certificate, key, and who signs those of clients."""
    allow_anonymous: bool


@attrs.frozen
class Running:
    """What runs, and where. `status`, `metrics`: urls, None for none."""

    cluster_id: str
    controller_id: int
    bootstrap: Address
    brokers: Mapping[int, Address]
    status: str | None
    metrics: str | None


@contextmanager
def running(options: Options) -> Iterator[Running]:
    """It runs until the block ends. CannotServe where it cannot be begun; then nothing is left."""
    with ExitStack() as stack:
        yield _begin(options, stack)


def _begin(options: Options, stack: ExitStack) -> Running:
    users, tls = _beyond_this_machine(options)
    authorizer = _authorizer(options)
    shown = public_url(options.url).removesuffix(":")
    server = _server(options.url, shown)
    recent, remote = Recent(), RemoteHost()
    cluster = LiveCluster(
        server,
        options.brokers,
        seed=options.seed,
        copy_rate_bytes_s=options.copy_rate_bytes_s,
        retention_bytes=options.retention_bytes,
        journal=lambda _: Journal(recent.sink),
        others=lambda: remote,
    )
    stack.callback(remote.close)
    stack.callback(_closed, cluster, shown)
    try:
        client = server.client()
        try:
            known_as = cluster_id(client, options.seed)
        finally:
            client.close()
        cluster.start()
        cluster.until_ready(READY_S)
    except (StoreError, OSError, BadValue, ControllerError, TimeoutError) as error:
        raise CannotServe(f"{shown}: {_why(error)}") from error
    _create(cluster, options.topics)
    place = options.listen
    with _listening("--listen", place):
        gateway = Gateway(
            cluster.controller,
            place.host,
            place.port,
            advertised=options.advertise,
            broker_listener=options.broker_listener,
            cluster_id=known_as,
            apis=with_remote_brokers(with_logs(cluster.logs)),
            users=users,
            tls=tls,
            authorizer=authorizer,
            allow_anonymous=options.allow_anonymous,
        )
        bootstrap = stack.enter_context(gateway).address
    reached = gateway.addresses(options.brokers)
    about = {"cluster_id": known_as, "store": shown, "listen": f"{bootstrap.host}:{bootstrap.port}"}
    status = Status(lambda: cluster.controller, cluster, recent, gateway.counts, about)
    of_status = _status(options, {"/": _page, "/status.json": status.page}, stack)
    of_metrics = None
    if options.metrics is not None:
        of_metrics = f"{_pages('--metrics', options.metrics, _metrics(cluster, gateway), stack)}metrics"
    controller_id = cluster.controller.describe().controller_id
    return Running(known_as, controller_id, bootstrap, reached, of_status, of_metrics)


def _authorizer(options: Options) -> Authorizer:
    """What each may do: everything, where nothing is said."""
    if options.acls is None:
        return allow_all
    try:
        return Acls.from_file(options.acls)
    except ValueError as error:
        raise CannotServe(f"--acls: {one_line(error)}") from error


def _beyond_this_machine(options: Options) -> tuple[Users | None, Tls | None]:
    """What clients have to show; pages never ask for anything."""
    for option, place in (("--status", options.status), ("--metrics", options.metrics), ("--listen", options.listen)):
        has_login = option == "--listen" and (options.users or (options.tls and options.tls[2]))
        if place is not None and not (is_loopback(place.host) or has_login or options.allow_anonymous):
            raise CannotServe(
                f"{option}: {place.host} is beyond this machine, and asks nobody who he is: say "
                "--allow-anonymous if that is meant"
            )
    if options.advertise is None and is_every_address(options.listen.host):
        raise CannotServe(
            f"--listen: {options.listen.host} is every address of this machine: say --advertise HOST, "
            "which clients are to call"
        )
    try:
        users = None if options.users is None else Users.from_file(options.users)
    except ValueError as error:
        raise CannotServe(f"--users: {one_line(error)}") from error
    tls = None if options.tls is None else Tls(*options.tls)
    try:
        if tls is not None:
            tls.context()
    except OSError as error:
        raise CannotServe(f"--tls-certificate: {error.strerror or one_line(error)}") from error
    return users, tls


def _server(url: str, shown: str) -> LiveServer:
    scheme, _, rest = url.partition(":")
    try:
        if scheme == "memory":
            server = LiveServer(file=rest or None)
            if rest:
                server.save()  # or it would be known at the end alone that it cannot be written
            return server
        return LiveServer(lambda: open_store(url))
    except (StoreError, OSError, ValueError) as error:
        raise CannotServe(f"{shown}: {_why(error)}") from error


def _closed(cluster: LiveCluster, shown: str) -> None:
    try:
        cluster.close()
    except OSError as error:  # a file whose folder went, or a disk that is full
        raise CannotServe(f"{shown}: what changed was not written: {_why(error)}") from error


def _why(error: Exception) -> str:
    """Without the file, which is that of the url or a part of it under a name that goes again."""
    return (isinstance(error, OSError) and error.strerror) or without_place(error)


def _create(cluster: LiveCluster, topics: Mapping[str, NewTopic]) -> None:
    """Those that are there already stay as they are."""
    for name, future in cluster.controller.admin.create_topics(topics).values.items() if topics else ():
        try:
            future.result(READY_S)
        except TopicAlreadyExists:
            pass
        except (ApiError, TimeoutError) as error:
            raise CannotServe(f"--topic {name}: {one_line(error)}") from error


def _status(options: Options, pages: Mapping[str, Page], stack: ExitStack) -> str | None:
    if options.status is None:
        return None
    try:
        return _pages("--status", options.status, pages, stack)
    except CannotServe:
        if not options.status_may_be_elsewhere:
            raise
        return _pages("--status", Place(options.status.host, 0), pages, stack)


def _pages(option: str, place: Place, pages: Mapping[str, Page], stack: ExitStack) -> str:
    with _listening(option, place):
        return f"http://{stack.enter_context(Pages(place, pages)).place}/"


@contextmanager
def _listening(option: str, place: Place) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        has_words = error.errno is None or isinstance(error, socket.gaierror)
        said = (error.strerror or one_line(error)) if has_words else os.strerror(error.errno or 0)  # asyncio's are long
        raise CannotServe(f"{option} {place}: {said}") from error


def _metrics(cluster: LiveCluster, gateway: Gateway) -> dict[str, Page]:
    try:
        from controller.metrics.prometheus import exposition  # noqa: PLC0415 - whoever wants no metrics needs no more
    except ImportError as error:
        raise CannotServe(f"--metrics: {one_line(error)}") from error

    def page() -> tuple[str, bytes]:
        return exposition(cluster.controller.metrics, gateway.metrics, *(meters.metrics for meters in cluster.meters()))

    return {"/metrics": page}


def _page() -> tuple[str, bytes]:
    return "text/html; charset=utf-8", (files(__package__) / "page.html").read_bytes()


def as_json(found: Running) -> dict[str, Any]:
    """What a program needs to know of what runs."""
    return {
        "cluster_id": found.cluster_id,
        "controller": found.controller_id,
        "bootstrap": _text(found.bootstrap),
        "brokers": {str(broker): _text(address) for broker, address in found.brokers.items()},
        "status": found.status,
        "metrics": found.metrics,
    }


def _text(address: Address) -> str:
    return str(Place(address.host, address.port))
