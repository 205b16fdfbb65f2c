"""What `kedge controller` runs: a controller on ZooKeeper, and the gateway at which Kafka brokers reach it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.properties import read_properties, settings
from controller.cli.printing import confirm, one_line, say, without_place
from controller.cli.serve import sharing
from controller.cli.serve.options import CannotServe, Listening
from controller.cli.serve.pages import Pages
from controller.cli.serve.running import alone, in_the_store, listening
from controller.host import Controller
from controller.model.values import Settings
from controller.runtime.collector import tuned
from controller.runtime.hand_back import hand_back as give_back
from controller.runtime.journal import FolderSink, Journal
from controller.wire import Gateway
from controller.wire.calls import Address
from controller.wire.cluster_id import cluster_id
from controller.wire.kafka import InternalTopics, KafkaHost, with_kafka_brokers
from controller.wire.remote import RemoteHost
from controller.wire.security.client import Credentials
from stores import open_store, public_url
from stores.base import MetadataStore, StoreError

_CALL_S: Final = 15.0


@attrs.frozen(kw_only=True)
class Options(Listening):
    """What `kedge controller` runs. `listener_name`, `brokers_config`: the inter-broker listener of the brokers, and a
    file of Java properties for connections to it. `depose`: a Kafka broker that is controller is deposed."""

    listener_name: str
    brokers_config: Path | None
    internal_topics: InternalTopics
    journal: Path | None
    depose: bool


@attrs.frozen
class Running:
    """What runs, and where. `store`: its url without secrets. `metrics`: a url, None for none."""

    store: str
    cluster_id: str
    controller: Controller
    address: Address
    metrics: str | None


@contextmanager
def running(options: Options) -> Iterator[Running]:
    """It runs until the block ends. Raises CannotServe where it cannot be begun; then nothing is left."""
    with ExitStack() as stack:
        yield _begin(options, stack)


def _begin(options: Options, stack: ExitStack) -> Running:
    users, tls = sharing.logins_of(options)
    authorizer = sharing.trusting_gateways(sharing.authorizer_of(options))
    shown = public_url(options.url)
    peers = sharing.peers_of(options, shown, stack)
    brokers = _brokers(options)
    stack.callback(brokers.close)
    protocol = f"{'' if users is None else 'SASL_'}{'PLAINTEXT' if tls is None else 'SSL'}"
    host = KafkaHost(
        brokers, listener=options.listener_name, protocol=protocol, internal_topics=options.internal_topics
    )
    stack.enter_context(tuned())
    store = _store(options.url, shown, stack)
    with in_the_store(shown):
        known_as = cluster_id(store)
    controller = stack.enter_context(
        Controller(
            store,
            options.node_id,
            host,
            settings=Settings(kafka_brokers=True, depose_kafka_controller=options.depose),
            journal=_journal(options),
        )
    )
    brokers.attach(controller)
    host.attach(controller)
    gateway = Gateway(
        controller,
        options.listen.host,
        options.listen.port,
        advertised=options.advertise,
        broker_listener=options.listener_name,
        cluster_id=known_as,
        apis=with_kafka_brokers(),
        users=users,
        tls=tls,
        authorizer=authorizer,
        allow_anonymous=options.allow_anonymous,
        peers=peers,
        has_controller_node=True,
    )
    with listening("--listen", options.listen), alone(options):
        address = stack.enter_context(gateway).address
    host.serves_at(address)
    controller.start()
    return Running(shown, known_as, controller, address, _metrics(options, controller, gateway, stack))


def hand_back(url: str) -> None:
    """Give the cluster back to Kafka's own controller, and print how many moves it continues. Raises CannotServe."""
    shown = public_url(url)
    with ExitStack() as stack:
        store = _store(url, shown, stack)
        with in_the_store(shown):
            done = give_back(store, _CALL_S)
    confirm(f"handed back: Kafka's brokers elect a controller, which goes on with {done.moves} reassignments")
    for key in done.throttles:
        say(f"{key} names throttles that were to be removed: remove them with kafka-configs.sh")


def _store(url: str, shown: str, stack: ExitStack) -> MetadataStore:
    try:
        store = open_store(url)
    except (StoreError, OSError, ValueError) as error:
        raise CannotServe(f"{shown}: {without_place(error)}") from error
    stack.callback(store.close)
    return store


def _brokers(options: Options) -> RemoteHost:
    """Connects to brokers as the file of --brokers-config says."""
    found: dict[str, Any] = {}
    if options.brokers_config is not None:
        try:
            found = settings(read_properties(options.brokers_config))
        except Failed as error:
            raise CannotServe(f"--brokers-config: {options.brokers_config}: {error}") from error
    context: ssl.SSLContext | None = found.get("ssl_context")
    login = None
    if "sasl_mechanism" in found:
        login = Credentials(found["sasl_plain_username"], found["sasl_plain_password"], found["sasl_mechanism"])
    return RemoteHost(tls=context, login=login, listener=options.listener_name)


def _journal(options: Options) -> Journal | None:
    if options.journal is None:
        return None
    try:
        return Journal(FolderSink(options.journal))
    except OSError as error:
        raise CannotServe(f"--journal: {options.journal}: {error.strerror or one_line(error)}") from error


def _metrics(options: Options, controller: Controller, gateway: Gateway, stack: ExitStack) -> str | None:
    if options.metrics is None:
        return None
    try:
        from controller.metrics.prometheus import exposition  # noqa: PLC0415 - without --metrics it is not needed
    except ImportError as error:
        raise CannotServe(f"--metrics: {one_line(error)}") from error

    def page() -> tuple[str, bytes]:
        return exposition(controller.metrics, gateway.metrics)

    names = () if options.advertise is None else (options.advertise,)
    with listening("--metrics", options.metrics):
        return f"http://{stack.enter_context(Pages(options.metrics, {'/metrics': page}, names)).place}/metrics"
