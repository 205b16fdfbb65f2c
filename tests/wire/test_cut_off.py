"""What clients get while the store has not answered for the length of a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from kedge.controller.wire import Peers
from kedge.stores import MemoryServer, MemoryStore
from tests.kit.waiting import until
from tests.wire.asking import ask, new_topic
from tests.wire.served import RawClient, Served

pytestmark = pytest.mark.slow

SAID = (41, "no controller is active; its store does not answer")


@pytest.fixture(scope="module", params=["alone", "with peers"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    server = MemoryServer(session_timeout_s=0.5)
    with closing(MemoryStore(server)) as finding:
        peers = Peers(store=finding) if request.param == "with peers" else None
        with Served(server=server, peers=peers) as opened:
            opened.store.disconnect()
            until(lambda: opened.controller.is_cut_off)
            yield opened


def test_answers_with_a_place_for_it_have_the_reason(served: Served) -> None:
    with RawClient(served.address) as client:
        created = ask(client, "CreateTopics", 7, topics=[new_topic("orders", 1, 1)], validate_only=False)
        described = client.ask("DescribeCluster", 0)
        moves = ask(client, "ListPartitionReassignments", 0, topics=None)
    for answer in (*created.topics, described, moves):
        assert (answer.error_code, answer.error_message) == SAID


def test_request_for_metadata_ends_with_a_closed_connection(served: Served) -> None:
    """Its answer has no place for an error, and clients take one without brokers for that of an empty cluster."""
    with RawClient(served.address) as client, pytest.raises(AssertionError, match="hung up"):
        client.ask("Metadata", 12, topics=None)


def test_answers_are_those_of_a_controller_again_when_the_store_is_back(served: Served) -> None:
    served.store.reconnect()
    until(lambda: served.controller.is_active)
    with RawClient(served.address) as client:
        assert client.ask("DescribeCluster", 0).error_code == 0
