"""What `kedge kafka-controller` runs: a controller on ZooKeeper, and the gateway at which Kafka brokers reach it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

from ....stores import open_store, public_url
from ....stores.base import MetadataStore, StoreError
from ...host import Controller
from ...model.values import Settings
from ...runtime.gc_tuning import short_turns, tuned
from ...runtime.hand_back import hand_back as give_back
from ...runtime.journal import FolderSink, Journal
from ...wire import Gateway, Peers
from ...wire.calls import Address, Api
from ...wire.cluster_id import cluster_id
from ...wire.kafka import InternalTopics, KafkaHost, with_kafka_brokers
from ...wire.remote import RemoteHost
from ...wire.security.client import Credentials
from ..kafka.errors import Failed
from ..kafka.properties import read_properties, settings
from ..printing import confirm, one_line, say, without_place
from ..serve import sharing
from ..serve.options import CannotServe, Listening, Place, as_place
from ..serve.pages import metrics_page
from ..serve.running import alone, at_place, in_the_store, listening
from ..store.meant import holds_cluster, require_cluster

_CALL_S: Final = 15.0


@attrs.frozen(kw_only=True)
class Options(Listening):
    """What the command runs. `listener_name`, `brokers_config`: the inter-broker listener of the brokers, and a file of
    Java properties for connections to it. `client_listeners`: where clients of other listeners of the brokers
    reach this controller, by the names of these. `depose`: a Kafka broker that is controller is deposed."""

    kafka_brokers: ClassVar[bool] = True
    listener_name: str
    client_listeners: Mapping[str, Place]
    brokers_config: Path | None
    internal_topics: InternalTopics
    journal: Path | None
    depose: bool


@attrs.frozen
class Running:
    """What runs, and where. `store`: its url without secrets. `is_new`: there was no cluster in it. `client_listeners`:
    addresses by the names of listeners. `metrics`: a url, None for none."""

    store: str
    is_new: bool
    cluster_id: str
    controller: Controller
    address: Address
    client_listeners: Mapping[str, Address]
    metrics: str | None


@contextmanager
def running(options: Options) -> Iterator[Running]:
    with ExitStack() as stack:
        yield _begin(options, stack)


def _begin(options: Options, stack: ExitStack) -> Running:
    users, tls = sharing.logins_of(options)
    authorizer = sharing.trusting_gateways(sharing.authorizer_of(options))
    shown = public_url(options.url)
    store = _store(options.url, shown, stack)
    with in_the_store(shown):
        is_new = not holds_cluster(store)
        if options.depose:
            require_cluster(store, "without --take-over, a new one is created in an empty tree")
    peers = sharing.peers_of(options, shown, stack)
    brokers = _brokers(options)
    stack.callback(brokers.close)
    protocol = f"{'' if users is None else 'SASL_'}{'PLAINTEXT' if tls is None else 'SSL'}"
    host = KafkaHost(
        brokers, listener=options.listener_name, protocol=protocol, internal_topics=options.internal_topics
    )
    stack.enter_context(tuned())
    stack.enter_context(short_turns())
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
    made = partial(
        Gateway,
        controller,
        advertised=options.advertise,
        cluster_id=known_as,
        users=users,
        tls=tls,
        authorizer=authorizer,
        allow_anonymous=options.allow_anonymous,
        has_controller_node=True,
    )
    gateways = _listening(options, made, lambda: with_kafka_brokers(brokers=brokers), peers, stack)
    for name, each in gateways.items():
        host.serves_at(each.address, name)
    controller.start()
    gateway, others = (
        gateways[options.listener_name],
        {name: gateways[name].address for name in options.client_listeners},
    )
    metrics = None
    if options.metrics is not None:
        page = metrics_page(lambda: [controller.metrics, gateway.metrics])
        metrics = f"{at_place('--metrics', options.metrics, {'/metrics': page}, options, stack)}metrics"
    return Running(shown, is_new, known_as, controller, gateway.address, others, metrics)


def _listening(
    options: Options,
    made: Callable[..., Gateway],
    apis: Callable[[], Mapping[int, Api]],
    peers: Peers | None,
    stack: ExitStack,
) -> dict[str, Gateway]:
    """A gateway for each listener of the brokers, by its name. The gateways of other controllers find the one at
    --listen."""
    gateways = {}
    unfound = None if peers is None else attrs.evolve(peers, is_found=False)
    places = [("--listen", options.listener_name, options.listen, peers)]
    places += [("--client-listener", name, at, unfound) for name, at in options.client_listeners.items()]
    for option, name, at, known in places:
        gateway = made(at.host, at.port, broker_listener=name, apis=apis(), peers=known)
        with listening(option, at), alone(options):
            gateways[name] = stack.enter_context(gateway)
    return gateways


def as_listeners(texts: Sequence[str], own: str) -> Mapping[str, Place]:
    """NAME://HOST:PORT of each listener, by its name. `own`: the one at --listen. Raises ValueError."""
    found: dict[str, Place] = {}
    for text in texts:
        name, separator, place = text.partition("://")
        if not name or not separator:
            raise ValueError(f"--client-listener: expected NAME://HOST:PORT, got {text!r:.80}")
        if name in {*found, own}:
            raise ValueError(f"--client-listener: {name:.80} has an address already")
        found[name] = as_place("--client-listener", place)
    return found


def hand_back(url: str) -> None:
    """Give the cluster back to Kafka's own controller, and print how many moves it continues. Raises CannotServe."""
    shown = public_url(url)
    with ExitStack() as stack:
        store = _store(url, shown, stack)
        with in_the_store(shown):
            done = give_back(store, _CALL_S)
    if done.moves is None:
        confirm("handed back already; nothing was written")
    else:
        confirm(f"handed back: Kafka's brokers elect a controller; reassignments that it continues: {done.moves}")
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
    # PLAIN without TLS is what the file names then, as it does for Kafka's own clients
    return RemoteHost(tls=context, login=login, plain_without_tls=True, listener=options.listener_name)


def _journal(options: Options) -> Journal | None:
    if options.journal is None:
        return None
    try:
        return Journal(FolderSink(options.journal))
    except OSError as error:
        raise CannotServe(f"--journal: {options.journal}: {error.strerror or one_line(error)}") from error
