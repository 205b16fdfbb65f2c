"""The gateway of the active controller stands still: it takes connections, and answers nothing."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import pytest

from kedge import BrokerRegistration, Controller, NewTopic
from kedge.controller.wire import Limits, Peers
from kedge.controller.wire.calls import Address
from kedge.controller.wire.peers.directory import Directory
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.served import DEADLINE_S, RACKS, RawClient, frame_of, framed
from tests.wire.test_forwarding import ALTER, METADATA, Node, alter, retention

PADDING = 32 * 1024 * 1024  # more than both ends of a connection keep for each other


class Silent:
    """Takes connections, and reads what comes if it `reads`, but says nothing. `got`: how many bytes came, `ended`: how
    many connections were ended by the other side."""

    def __init__(self, *, reads: bool) -> None:
        self.got = self.connections = self.ended = 0
        self._may_read = threading.Event()
        if reads:
            self.read()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.address = Address("127.0.0.1", self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept)]

    def read(self) -> None:
        self._may_read.set()

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.read()
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(DEADLINE_S)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it is shut down
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._threads.append(threading.Thread(target=self._take, args=(connection,)))
                self._threads[-1].start()

    def _take(self, connection: socket.socket) -> None:
        with connection:
            self._may_read.wait(DEADLINE_S)
            with contextlib.suppress(ConnectionError):
                while data := connection.recv(65536):
                    self.got += len(data)
            self.ended += 1


class Frozen:
    """Controller 1 leads, and its gateway is a silent one; controller 2 stands by. Options are those of its gateway."""

    def __init__(self, stack: ExitStack, *, reads: bool, peers: dict[str, Any], options: dict[str, Any]) -> None:
        self.server = MemoryServer()
        self.silent = stack.enter_context(Silent(reads=reads))
        self._store, other = MemoryStore(self.server), MemoryStore(self.server)
        stack.callback(self._store.close)
        stack.callback(other.close)
        self.active = Controller(self._store, 1, Brokers())
        stack.callback(self.active.close)
        self.active.start()
        until(lambda: self.active.is_active)
        self.standby = Node(self.server, 2, peers, options)
        stack.callback(self.standby.close)
        for broker, rack in RACKS.items():
            self.standby.controller.register_broker(BrokerRegistration(broker, rack=rack))
        until(lambda: self.active.describe().live_brokers == tuple(RACKS))
        self.active.admin.create_topics({"orders": NewTopic(1, 3)}).all().result(30)
        Directory(other, 1).publish(self.silent.address, {})
        until(lambda: self.standby.controller.active_id == 1)

    def until_asked(self) -> None:
        """A frame is on its way."""
        until(lambda: self.silent.got)

    def fail_over(self) -> None:
        """The stand-by leads; the silent one stays as it is."""
        self.active.close()
        until(lambda: self.standby.controller.is_active)

    @property
    def lost(self) -> int:
        return self.standby.gateway.counts["forward_lost"]


@contextmanager
def frozen(*, reads: bool = True, peers: dict[str, Any] | None = None, **options: Any) -> Iterator[Frozen]:
    with ExitStack() as stack:
        yield Frozen(stack, reads=reads, peers=peers or {}, options=options)


def send(client: RawClient, api: str, version: int, padding: int = 0, **fields: Any) -> None:
    """A request, with bytes behind it that are not read."""
    client.send(framed(frame_of(api, version, **fields) + bytes(padding)))


def send_alter(client: RawClient, value: int, padding: int = 0) -> None:
    configs = [{"name": "retention.ms", "config_operation": 0, "value": str(value)}]
    resources = [{"resource_type": 2, "resource_name": "orders", "configs": configs}]
    send(client, *ALTER, padding, resources=resources)


def test_what_may_have_been_done_is_hung_up_on_when_another_leads_and_makes_room_for_others() -> None:
    with frozen(limits=Limits(requests_in_flight=1)) as cluster, RawClient(cluster.standby.address) as client:
        send_alter(client, 1)
        cluster.until_asked()
        cluster.fail_over()
        assert client.receive() is None
        until(lambda: cluster.lost == 1)
        until(lambda: cluster.silent.ended == 1)
        assert retention(cluster.standby.controller) is None
        with RawClient(cluster.standby.address) as other:
            assert alter(other, 2) == 0
        assert retention(cluster.standby.controller) == "2"


@pytest.mark.slow
def test_what_only_reads_is_answered_by_the_one_that_leads_next_on_the_same_connection() -> None:
    with frozen() as cluster, RawClient(cluster.standby.address) as client:
        send(client, *METADATA, topics=None)
        cluster.until_asked()
        cluster.fail_over()
        assert [topic.name for topic in client.answer(*METADATA).topics] == ["orders"]
        until(lambda: cluster.silent.ended == 1)
        assert (cluster.lost, cluster.silent.connections) == (0, 1)


@pytest.mark.slow
def test_read_is_repeated_where_a_third_gateway_leads_next() -> None:
    with frozen() as cluster, ExitStack() as stack:
        third = Node(cluster.server, 3, {}, {})
        stack.callback(third.close)
        until(lambda: third.controller.active_id == 1)
        nodes = (cluster.standby, third)
        clients = [stack.enter_context(RawClient(node.address)) for node in nodes]
        for client in clients:
            send(client, *METADATA, topics=None)
        until(lambda: cluster.silent.connections == 2)
        cluster.active.close()
        for client in clients:
            assert [topic.name for topic in client.answer(*METADATA).topics] == ["orders"]
        relayed = sorted(node.gateway.counts["relayed"] for node in nodes)
        assert relayed[0] == 0 < relayed[1]


@pytest.mark.slow
def test_what_the_other_did_not_take_whole_was_not_done_and_is_answered_here() -> None:
    with frozen(reads=False) as cluster, RawClient(cluster.standby.address) as client:
        send_alter(client, 1, PADDING)
        until(lambda: cluster.silent.connections == 1)
        until(lambda: cluster.standby.gateway.counts["forwarded"] == 1)
        cluster.fail_over()
        assert client.answer(*ALTER).responses[0].error_code == 0
        assert retention(cluster.standby.controller) == "1"
        cluster.silent.read()
        until(lambda: cluster.silent.ended == 1)
        assert cluster.silent.got < PADDING  # the rest was not sent
        assert cluster.lost == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "peers", [{"secret": "of gateways"}, {"tls": ssl.create_default_context()}], ids=["SASL", "TLS"]
)
def test_peer_that_refuses_the_login_is_given_up_when_another_leads(peers: dict[str, Any]) -> None:
    with frozen(peers=peers) as cluster, RawClient(cluster.standby.address) as client:
        send_alter(client, 1)
        cluster.until_asked()
        cluster.fail_over()
        assert client.answer(*ALTER).responses[0].error_code == 0
        until(lambda: cluster.silent.ended == 1)
        assert cluster.lost == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["it reads", "it changes"])
def test_where_the_silent_one_goes_on_leading_the_client_is_hung_up_on_in_time(kind: str) -> None:
    with frozen(peers={"answer_s": 0.3}) as cluster, RawClient(cluster.standby.address) as client:
        if kind == "it reads":
            send(client, *METADATA, topics=None)
        else:
            send_alter(client, 1)
        assert client.receive() is None
        until(lambda: cluster.lost == 1)
        until(lambda: cluster.silent.ended == 1)
        assert cluster.silent.connections == 1
        assert cluster.active.is_active


@pytest.mark.slow
def test_the_silent_one_that_takes_nothing_more_is_given_up_in_time_and_not_counted_as_lost() -> None:
    with frozen(reads=False, peers={"answer_s": 0.3}) as cluster, RawClient(cluster.standby.address) as client:
        send_alter(client, 1, PADDING)
        assert client.receive() is None
        until(lambda: cluster.standby.gateway.counts["unanswered"] == 1)  # no gateway is left to do it
        assert cluster.lost == 0
        assert cluster.active.is_active


def test_a_gateway_that_is_closed_leaves_no_connection_to_a_silent_one() -> None:
    with frozen() as cluster, RawClient(cluster.standby.address) as client:
        send_alter(client, 1)
        cluster.until_asked()
        cluster.standby.close()
        assert client.receive() is None
        until(lambda: cluster.silent.ended == 1)


@pytest.mark.parametrize("answer_s", [0, -1.0])
def test_a_time_for_answers_is_above_zero(answer_s: float) -> None:
    store = MemoryStore()
    with pytest.raises(ValueError, match="answer_s"):
        Peers(store=store, answer_s=answer_s)
    store.close()
