"""What two processes have, on one store: one leads and has no broker, the other has three and stands by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, Self

from kedge import NewTopic, TopicPartition
from kedge.controller.host import Controller
from kedge.controller.model.values import Endpoint
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.simulated.broker import Broker
from kedge.controller.wire import Gateway, Peers
from kedge.controller.wire.records import with_records
from kedge.controller.wire.remote import Credentials, RemoteHost, with_orders, with_remote_brokers
from kedge.controller.wire.security.client import logging_in
from kedge.controller.wire.security.gateways import login_at
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RACKS, RawClient

LISTENER: Final = "OWN"


SECRET: Final = "of the processes"  # noqa: S105 - as in the test


class Shared:
    """`with Shared() as shared:` controller 102 leads, 101 stands by beside the brokers. `peers`, and all other options
    of gateways, are those of both; `protocol` is what the brokers' addresses speak then."""

    def __init__(self, protocol: str = "SASL_PLAINTEXT", peers: dict[str, Any] | None = None, **options: Any) -> None:
        self._protocol, self._peers, self._options = protocol, {"secret": SECRET, **(peers or {})}, options
        self.server = MemoryServer()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.leading, self.active = self._process(stack, 102, {})
            self.leading.start().until_ready(DEADLINE_S)
            self.cluster, self.standby = self._process(stack, 101, RACKS)
            told = self.standby.addresses(RACKS)
            self.cluster.listen({b: Endpoint(LISTENER, at.host, at.port, self._protocol) for b, at in told.items()})
            assert self.standby.asking is not None
            self.asking = self.standby.asking
            self.cluster.asks(self.asking)
            self.cluster.start().until_ready(DEADLINE_S)
            self._stack = stack.pop_all()
        return self

    def _process(self, stack: ExitStack, node_id: int, racks: Any) -> tuple[LiveCluster, Gateway]:
        self.finding = finding = MemoryStore(self.server)
        stack.callback(finding.close)
        peers = Peers(store=finding, **self._peers)
        host = RemoteHost(tls=peers.tls, peers=peers)
        stack.callback(host.close)
        server = LiveServer(lambda: MemoryStore(self.server))
        cluster = LiveCluster(server, racks, first_id=node_id, others=lambda: host)
        stack.callback(cluster.close)
        cluster.start_controllers()
        with_own = with_records(cluster.logs, cluster.groups, creates_topics=False)
        apis = with_orders(cluster.host, with_remote_brokers(with_own))
        gateway = Gateway(cluster.controller, broker_listener=LISTENER, apis=apis, peers=peers, **self._options)
        return cluster, stack.enter_context(gateway)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def controller(self) -> Controller:
        """The one that leads."""
        return self.leading.controller

    def topic(self, name: str, replicas: list[list[int]]) -> list[TopicPartition]:
        """It is led, by brokers of the other process."""
        self.controller.admin.create_topics({name: NewTopic(-1, -1, replicas)}).all().result(DEADLINE_S)
        tps = [TopicPartition(name, partition) for partition in range(len(replicas))]
        until(lambda: not any(self.cluster.logs.bounds(None, tp).result(DEADLINE_S).error for tp in tps))
        return tps

    def broker(self, broker_id: int) -> Broker:
        return self.cluster.brokers[broker_id]


@contextmanager
def as_gateway(address: Any) -> Iterator[RawClient]:
    """A client there that logged in with the secret of gateways."""
    with RawClient(address) as client:
        log_in(client, login_at(SECRET, address.host, address.port))
        yield client


def log_in(client: RawClient, credentials: Credentials) -> None:
    """Raises AssertionError, or NotLetIn, where the login is refused."""
    steps, answer = logging_in(credentials), None
    with suppress(StopIteration):
        while True:
            api, fields = steps.send(answer)
            answer = client.ask(api.name, api.versions[-1], **fields)
