"""Broken frames and attacks are harmless."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterator

import pytest

from kedge import NewTopic
from kedge.controller.wire import Limits
from tests.kit.waiting import until
from tests.wire.attacks import ATTACKS, Aim, attack
from tests.wire.fuzz import Fuzz, check, memory_mib
from tests.wire.fuzzed import plain
from tests.wire.living import Living
from tests.wire.served import RACKS, RawClient, Served


@pytest.mark.full
def test_ten_thousand_broken_frames_are_harmless_and_each_is_counted() -> None:
    with Served() as served:
        # A name that no frame has: some frames are well-formed, and delete what they name.
        served.controller.admin.create_topics({"kept": NewTopic(3, 3)}).all().result(30)
        fuzz, before = Fuzz(plain(served), seed=20), memory_mib()
        thread = threading.Thread(target=fuzz.run, args=(10_000,))
        thread.start()
        with RawClient(served.address) as other:
            while thread.is_alive():
                answer = other.ask("Metadata", 12, topics=None)
                assert {broker.node_id for broker in answer.brokers} == set(RACKS)
                assert "kept" in {topic.name for topic in answer.topics}
                thread.join(0.1)
        check(served.controller, fuzz, served.gateway)
        assert sum(fuzz.sent.values()) == 10_000
        assert fuzz.hung_up > 3_000
        assert memory_mib() - before < 250  # well-formed ones create topics, of some 50,000 partitions at most


@pytest.mark.slow
def test_who_sends_too_slowly_or_leaves_half_way_is_hung_up_on_and_counted() -> None:
    with Served(limits=Limits(idle_s=1)) as served:
        starts = [b"", b"\0", struct.pack(">i", 100), struct.pack(">ih", 100, 18)]
        clients = [RawClient(served.address) for _ in range(20)]
        try:
            for number, client in enumerate(clients):
                client.send(starts[number % len(starts)])
            until(lambda: served.gateway.counts["idle"] == 5 and served.gateway.counts["slow_frame"] == 15)
            assert [client.receive() for client in clients] == [None] * len(clients)
        finally:
            for client in clients:
                client.__exit__()
        for _ in range(20):  # these never close their side of what they began
            with RawClient(served.address) as client:
                client.send(struct.pack(">ih", 100, 18))
                client.hang_up()
                assert client.receive() is None
        until(lambda: served.gateway.counts["garbage"] == 20)
        with RawClient(served.address) as client:
            assert client.ask("Metadata", 12, topics=None).controller_id in RACKS


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_begins_and_a_client_is_served_after_it(
    living: Living, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aim = Aim(living.address, page=living.address)  # what is closed there is opened again as well
    asyncio.run(attack(name, aim, seconds=0.2, part=1_000))
    assert capsys.readouterr().out == "begun\n"
    with RawClient(living.address) as client:
        assert client.ask("Metadata", 8, topics=[]).brokers
