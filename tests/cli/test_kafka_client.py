"""What the commands' client does when a server closes a connection, moves, is silent, or is too old."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from kedge.controller.cli.kafka.client import Client
from kedge.controller.cli.kafka.errors import UNSUPPORTED, Failed, NotConnected, Refused
from kedge.controller.cli.kafka.properties import settings
from kedge.controller.wire import Limits, Users, allow_all
from kedge.controller.wire.calls import Address
from tests.wire.peers import Peer
from tests.wire.served import Served

SPEAKS = {3: (1, 9), 45: (0, 0), 60: (0, 0)}
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'x.PlainLoginModule required username="alice" password="secret";',
}


@contextmanager
def entered(server: Address, **properties: str) -> Iterator[Client]:
    with closing(Client((server,), settings({"request.timeout.ms": "3000", **properties}))) as client:
        client.enter(server, 10.0)
        yield client


def telling(*peers: Peer, controller: int = 1) -> Callable[[Any], Any]:
    """Answers of a server that knows these brokers, with ids from 1, and does what it is asked."""

    def answer(request: Any) -> dict[str, Any]:
        brokers = [(number, peer.address.host, peer.address.port) for number, peer in enumerate(peers, 1)]
        name = {60: "broker_id", 3: "node_id"}.get(request.API_KEY)
        rows = [{name: number, "host": host, "port": port} for number, host, port in brokers]
        return {} if name is None else {"controller_id": controller, "brokers": rows}

    return answer


def names(peer: Peer) -> list[str]:
    return [type(request).__name__.removesuffix("Request") for request in peer.asked]


def alter(client: Client) -> Any:
    return client.ask_controller("AlterPartitionReassignments", topics=[])


@pytest.mark.parametrize("api", ["Metadata", "AlterPartitionReassignments"])
def test_lost_request_is_sent_again_only_where_it_changes_nothing(api: str) -> None:
    with Peer(SPEAKS) as peer:
        answer = peer.answer = telling(peer)
        with entered(peer.address) as client:
            lost = [None]
            peer.answer = lambda asked: (
                lost.pop() if lost and type(asked).__name__ == f"{api}Request" else answer(asked)
            )
            if api == "Metadata":
                assert client.ask(api, 1, topics=[]).controller_id == 1
            else:
                with pytest.raises(Failed, match=r"broker 1: the connection was lost, .* may have been executed"):
                    alter(client)
    assert names(peer).count(api) == (2 if api == "Metadata" else 1)


def test_request_follows_the_controller() -> None:
    with Peer(SPEAKS) as first, Peer(SPEAKS) as second:
        second.answer = telling(first, second, controller=2)
        before = telling(first, second)

        def deposed(request: Any) -> Any:
            if request.API_KEY != 45:
                return before(request)
            first.answer = second.answer
            return {"error_code": 41}

        first.answer = deposed
        with entered(first.address) as client:
            assert alter(client).error_code == 0
    assert names(second) == ["AlterPartitionReassignments"]


def test_broker_that_came_back_elsewhere_is_found_there() -> None:
    with Peer(SPEAKS) as server, Peer(SPEAKS) as there, Peer(SPEAKS) as here:
        server.answer = here.answer = telling(here)
        with entered(server.address, **{"request.timeout.ms": "1000"}) as client:
            client.ask("Metadata", 1, topics=[])
            here.answer, server.answer = lambda _: None, telling(there)
            here.__exit__()  # listens no longer, and hangs up at the next request
            client.ask("Metadata", 1, topics=[])
            assert names(there) == ["Metadata"]
            with pytest.raises(NotConnected, match=r"^broker 7 cannot be reached$"):
                client.ask("Metadata", 7, topics=[])


def test_silent_broker_and_lacking_api_are_named() -> None:
    with Peer(SPEAKS) as peer:
        answer = peer.answer = telling(peer)
        with entered(peer.address, **{"request.timeout.ms": "200"}) as client:
            with pytest.raises(Refused, match=r"^The server does not support ListOffsets$") as refused:
                client.ask("ListOffsets", topics=[])
            assert refused.value.code == UNSUPPORTED
            peer.answer = lambda request: time.sleep(1) if request.API_KEY == 3 else answer(request)
            with pytest.raises(Failed, match=r"^the server did not answer Metadata within 0\.2 s$"):
                client.ask("Metadata", topics=[])


def test_server_that_is_too_old_for_the_name_of_a_client_is_asked_without_it() -> None:
    with Peer(SPEAKS) as peer:
        peer.api_versions_max, peer.answer = 0, telling(peer)
        with entered(peer.address) as client:
            assert set(client.offered) == set(SPEAKS)


def test_login_is_renewed_before_it_ends() -> None:
    """Its server closes the connection of a client that asks for more afterwards, and the request may be one that must
    not be sent again."""
    with (
        Served(users=Users({"alice": "secret"}), authorizer=allow_all, limits=Limits(reauth_ms=1000)) as served,
        entered(served.address, **LOGIN) as client,
    ):
        for _ in range(2):
            client.ask("Metadata", repeatable=False, topics=[])
            time.sleep(1.1)
        client.ask("Metadata", repeatable=False, topics=[])
