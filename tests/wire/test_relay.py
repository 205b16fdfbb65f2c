"""The gateway of the active controller breaks connections, sends invalid answers, or answers nothing."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import attrs
import pytest

from kedge.controller.wire import Limits, Peers
from kedge.controller.wire.calls import Address
from kedge.controller.wire.peers.directory import Directory
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.wire.peers import Listening, frame_from
from tests.wire.served import DEADLINE_S, RawClient, frame_of, framed
from tests.wire.test_forwarding import ALTER, METADATA, Node, Pair, alter, retention

NO_ANSWERS = {
    "an end": b"",
    "another's answer": b"\0\0\0\x06\x7f\xff\xff\xff\0\0",
    "no answer": b"\0\0\0\x01\0",
    "less than nothing": b"\xff\xff\xff\xff",
}
LISTENS, BREAKS = "127.0.0.2", "127.0.0.3"
"""Where the gateways listen, and where others find them."""
ANOTHER_PROTOCOL = b"HTTP/1.1 400 Bad Request\r\n\r\n"


class Breaking(Listening):
    """Stands before a gateway, and passes on what comes and goes; but `times` connections get `instead` in the place of
    the first answer, and are ended."""

    def __init__(self, behind: Any, times: int, instead: bytes) -> None:
        super().__init__(BREAKS, behind.port)
        self._behind, self._left, self._instead = behind, times, instead

    def handle(self, connection: socket.socket) -> None:
        with socket.create_connection((self._behind.host, self._behind.port)) as gateway:
            while frame := frame_from(connection):
                gateway.sendall(frame)
                answer = frame_from(gateway)
                if self._left:
                    self._left -= 1
                    connection.sendall(self._instead)
                    if self._instead:
                        connection.settimeout(DEADLINE_S)
                        connection.recv(1)  # until the other side has had enough of it
                    return
                connection.sendall(answer)


@contextmanager
def broken(times: int, instead: bytes = b"", **options: Any) -> Iterator[tuple[Pair, Breaking, RawClient]]:
    """A client of the stand-by's gateway, which finds the active one's behind what breaks: at the published address."""
    with (
        Pair(host=LISTENS, advertised=BREAKS, **options) as pair,
        Breaking(Address(LISTENS, pair.active.address.port), times, instead) as breaking,
        RawClient(Address(LISTENS, pair.standby.address.port)) as client,
    ):
        yield pair, breaking, client


@pytest.mark.slow
@pytest.mark.parametrize("instead", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_only_reads_is_asked_once_more_on_a_new_connection(instead: bytes) -> None:
    with broken(1, instead) as (pair, breaking, client):
        assert [topic.name for topic in client.ask(*METADATA, topics=None).topics] == ["orders"]
        assert breaking.connections == 2
        assert pair.standby.gateway.counts["forward_lost"] == pair.standby.gateway.counts["garbage"] == 0


@pytest.mark.slow
def test_what_breaks_connection_after_connection_ends_that_of_its_client() -> None:
    with broken(2) as (pair, breaking, client):
        with pytest.raises(AssertionError, match="hung up"):
            client.ask(*METADATA, topics=None)
        assert breaking.connections == 2
        until(lambda: pair.standby.gateway.counts["forward_lost"] == 1)


def test_what_may_have_been_done_is_not_asked_again() -> None:
    """Here it was: the client finds that when it asks again."""
    with broken(1) as (pair, breaking, client):
        with pytest.raises(AssertionError, match="hung up"):
            alter(client, 7)
        until(lambda: pair.standby.gateway.counts["forward_lost"] == 1)
        assert retention(pair.active.controller) == "7"
        assert breaking.connections == 1


@pytest.mark.slow
@pytest.mark.parametrize("instead", [*NO_ANSWERS.values(), ANOTHER_PROTOCOL], ids=[*NO_ANSWERS, "another protocol"])
def test_login_with_an_invalid_answer_is_tried_again_and_leaves_no_connection(instead: bytes) -> None:
    secret = {"secret": "of gateways"}
    with broken(1, instead, peers=secret) as (pair, breaking, client):
        assert alter(client, 7) == 0  # nothing was asked before, and so it may be
        assert breaking.connections == 2
        until(lambda: breaking.ended == 1)
        counts = pair.standby.gateway.counts
        assert counts["forward_lost"] == counts["garbage"] == counts["failed"] == 0


RETENTION = {"name": "retention.ms", "config_operation": 0, "value": "1"}
PADDING = 32 * 1024 * 1024  # more than both ends of a connection keep for each other


class Silent(Listening):
    """Takes connections, and reads what comes once it `may_read`, but says nothing. `got`: how many bytes came."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__()
        self.got = 0
        self.may_read = threading.Event()
        if reads:
            self.may_read.set()
        self._server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def handle(self, connection: socket.socket) -> None:
        self.may_read.wait(DEADLINE_S)
        while data := connection.recv(65536):
            self.got += len(data)


@attrs.frozen
class Frozen:
    """Controller 1 leads, and its gateway is a silent one; controller 2 stands by."""

    pair: Pair
    silent: Silent

    @property
    def standby(self) -> Node:
        return self.pair.standby

    @property
    def lost(self) -> int:
        return self.standby.gateway.counts["forward_lost"]

    def fail_over(self) -> None:
        """The stand-by leads; the silent one stays as it is."""
        self.pair.active.close()
        until(lambda: self.standby.controller.is_active)


@contextmanager
def frozen(*, reads: bool = True, **options: Any) -> Iterator[tuple[Frozen, RawClient]]:
    """And a client of the stand-by's gateway. Options are those of the pair."""
    with Silent(reads=reads) as silent, Pair(**options) as pair, closing(MemoryStore(pair.server)) as store:
        pair.active.gateway.close()
        Directory(store, 1).publish(silent.address, {})
        with RawClient(pair.standby.address) as client:
            yield Frozen(pair, silent), client
            silent.may_read.set()


def send(client: RawClient, kind: str) -> None:
    """A request that reads, one that changes, or one that changes with bytes behind it that are not read."""
    if kind == "reads":
        client.begin(*METADATA, topics=None)
        return
    resources = [{"resource_type": 2, "resource_name": "orders", "configs": [RETENTION]}]
    padding = bytes(PADDING if kind == "is not taken whole" else 0)
    client.send(framed(frame_of(*ALTER, resources=resources) + padding))


def is_answered(client: RawClient, kind: str) -> bool:
    if kind == "reads":
        return [topic.name for topic in client.answer(*METADATA).topics] == ["orders"]
    return client.answer(*ALTER).responses[0].error_code == 0  # type: ignore[no-any-return]


LOGINS: dict[str, dict[str, Any]] = {"SASL": {"secret": "of gateways"}, "TLS": {"tls": ssl.create_default_context()}}


def test_change_that_may_have_been_done_is_hung_up_on_and_makes_room_for_others() -> None:
    with frozen(limits=Limits(requests_in_flight=1)) as (cluster, client):
        send(client, "changes")
        until(lambda: cluster.silent.got)
        cluster.fail_over()
        assert client.receive() is None
        until(lambda: cluster.lost == cluster.silent.ended == 1)
        assert retention(cluster.standby.controller) is None
        with RawClient(cluster.standby.address) as other:
            assert alter(other, 2) == 0
        assert retention(cluster.standby.controller) == "2"


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, login", [("reads", None), ("is not taken whole", None), ("changes", "SASL"), ("changes", "TLS")]
)
def test_request_that_was_not_done_is_answered_by_the_next_leader(kind: str, login: str | None) -> None:
    """Also where the silent one did not answer a login, and where it did not take the whole request."""
    is_taken = kind != "is not taken whole"
    with frozen(reads=is_taken, peers=LOGINS[login] if login else {}) as (cluster, client):
        send(client, kind)
        until(lambda: cluster.silent.got if is_taken else cluster.standby.gateway.counts["forwarded"])
        until(lambda: cluster.silent.connections == 1)
        cluster.fail_over()
        assert is_answered(client, kind)
        cluster.silent.may_read.set()
        until(lambda: cluster.silent.ended == 1)
        assert cluster.silent.got < PADDING  # the rest was not sent
        assert (cluster.lost, cluster.silent.connections) == (0, 1)


@pytest.mark.slow
def test_read_is_repeated_where_a_third_gateway_leads_next() -> None:
    with frozen() as (cluster, first), closing(Node(cluster.pair.server, 3, {}, {})) as third:
        until(lambda: third.controller.active_id == 1)
        with RawClient(third.address) as second:
            for client in (first, second):
                send(client, "reads")
            until(lambda: cluster.silent.connections == 2)
            cluster.pair.active.close()
            assert all(is_answered(client, "reads") for client in (first, second))
        relayed = sorted(node.gateway.counts["relayed"] for node in (cluster.standby, third))
        assert relayed[0] == 0 < relayed[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, counted",
    [("reads", "forward_lost"), ("changes", "forward_lost"), ("is not taken whole", "unanswered")],
)
def test_client_is_hung_up_on_in_time_where_the_silent_one_leads_on(kind: str, counted: str) -> None:
    """What was not taken whole is not lost: no gateway is left to do it."""
    with frozen(reads=kind != "is not taken whole", peers={"answer_s": 0.3}) as (cluster, client):
        send(client, kind)
        assert client.receive() is None
        until(lambda: cluster.standby.gateway.counts[counted] == 1)
        assert cluster.lost == (counted == "forward_lost")
        assert cluster.pair.active.controller.is_active
        cluster.silent.may_read.set()
        until(lambda: cluster.silent.ended == cluster.silent.connections)


def test_a_gateway_that_is_closed_leaves_no_connection_to_a_silent_one() -> None:
    with frozen() as (cluster, client):
        send(client, "changes")
        until(lambda: cluster.silent.got)
        cluster.standby.close()
        assert client.receive() is None
        until(lambda: cluster.silent.ended == 1)


@pytest.mark.parametrize("answer_s", [0, -1.0])
def test_a_time_for_answers_is_above_zero(answer_s: float) -> None:
    with closing(MemoryStore()) as store, pytest.raises(ValueError, match="answer_s"):
        Peers(store=store, answer_s=answer_s)
