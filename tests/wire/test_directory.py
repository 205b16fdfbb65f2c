"""Where gateways find each other and brokers of other processes, and what a store has once for all of them."""

from __future__ import annotations

from contextlib import closing

import pytest

from kedge import BrokerRegistration, Controller
from kedge.controller.codec.small import decode_gateway, encode_gateway
from kedge.controller.model.values import Endpoint
from kedge.controller.wire import Gateway, Peers
from kedge.controller.wire.cluster_id import cluster_id, gateways_secret
from kedge.controller.wire.peers.directory import AlreadyRunning
from kedge.stores import ABSENT, MemoryStore, Put
from servers import free_port
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.served import RawClient
from tests.wire.test_forwarding import METADATA, Pair


def test_brokers_with_a_listener_of_that_name_have_its_address_everywhere() -> None:
    """Of several listeners at the first by name; all others at the gateway that is asked."""
    with Pair(broker_listener=["OWN", "OTHER"]) as pair:
        own, other = Endpoint("OWN", "h1", 1), Endpoint("OTHER", "h2", 2)
        for broker, endpoints in {7: (other, own), 8: (other,), 9: (Endpoint("NONE", "h3", 3),)}.items():
            pair.standby.controller.register_broker(BrokerRegistration(broker, endpoints=endpoints))
        until(lambda: len(pair.active.controller.describe().live_brokers) == 6)
        expected = {7: ("h1", 1), 8: ("h2", 2)}
        for node in (pair.active, pair.standby):
            with RawClient(node.address) as client:
                told = {b.node_id: (b.host, b.port) for b in client.ask(*METADATA, topics=[]).brokers}
                described = client.ask("DescribeCluster", 1).brokers
            assert told == {b.broker_id: (b.host, b.port) for b in described}
            assert {broker: told[broker] for broker in (7, 8)} == expected
            at = node.gateway.addresses((1, 9))
            assert {broker: told[broker] for broker in (1, 9)} == {b: (at[b].host, at[b].port) for b in at}


def test_a_second_gateway_of_a_standby_forwards_and_is_not_found() -> None:
    """It names brokers by its own listener. Others keep the address of the first one, also when it ends."""
    with Pair() as pair:
        finding = MemoryStore(pair.server)
        outside = Endpoint("OUTSIDE", "h1", 1)
        pair.standby.controller.register_broker(BrokerRegistration(7, endpoints=(outside,)))
        until(lambda: 7 in pair.active.controller.describe().live_brokers)
        peers = Peers(store=finding, is_found=False)
        with Gateway(pair.standby.controller, broker_listener="OUTSIDE", peers=peers) as second:
            with RawClient(second.address) as client:
                answer = client.ask(*METADATA, topics=[])
            assert {b.node_id: (b.host, b.port) for b in answer.brokers}[7] == ("h1", 1)
            assert answer.controller_id in {b.node_id for b in answer.brokers}
        entry = finding.get("/kedge/gateways/2", timeout_s=5)
        assert entry is not None
        assert decode_gateway(entry.value) == (pair.standby.address.host, pair.standby.address.port)
        finding.close()


def test_a_controller_has_one_gateway_that_listens() -> None:
    """A second one is refused, and listens nowhere; one that listens no more does not hold up the next."""
    with Pair() as pair:
        finding = MemoryStore(pair.server)
        gone = finding.another_session()
        port = free_port()
        gone.commit([Put("/kedge/gateways/3", encode_gateway("127.0.0.1", port), ABSENT, ephemeral=True)], timeout_s=5)
        taken = Gateway(pair.standby.controller, port=free_port(), peers=Peers(store=finding))
        with pytest.raises(
            AlreadyRunning, match=f"controller 2 is already running, .* at 127.0.0.1:{pair.standby.address.port}"
        ):
            taken.start()
        with Controller(MemoryStore(pair.server), 3, Brokers()) as third:
            third.start()
            with Gateway(third, peers=Peers(store=finding)) as gateway:
                entry = finding.get("/kedge/gateways/3", timeout_s=5)
                assert entry is not None
                assert decode_gateway(entry.value) == (gateway.address.host, gateway.address.port)
        for store in (gone, finding):
            store.close()


def test_an_id_is_written_once() -> None:
    with closing(MemoryStore()) as store:
        made = cluster_id(store, 7)
        assert cluster_id(store, 8) == made


def test_a_secret_of_gateways_is_written_once_and_is_another_one_for_each_store() -> None:
    with closing(MemoryStore()) as store, closing(MemoryStore()) as other:
        made = gateways_secret(store)
        assert gateways_secret(store) == made != gateways_secret(other)
