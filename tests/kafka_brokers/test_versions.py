"""Below inter-broker protocol 2.7 a broker is refused. `test_following` has those that are served."""

from __future__ import annotations

import contextlib

import pytest

from servers import LocalZooKeeper
from tests.kafka_brokers.cluster import WAIT_S, following, until

pytestmark = [pytest.mark.server, pytest.mark.full]


@pytest.mark.checklist(256)
def test_a_broker_below_2_7_is_refused_with_a_sentence(zookeeper_server: LocalZooKeeper) -> None:
    with following(zookeeper_server, ibp="2.6") as cluster, contextlib.closing(cluster.store()) as store:
        cluster.start_controller()
        cluster.brokers[1].start(WAIT_S)
        until("the broker is registered", lambda: store.get("/brokers/ids/1", timeout_s=WAIT_S))
        log = cluster.folder / "controller-101.log"
        until("the finding is printed", lambda: "inter.broker.protocol.version is below 2.7" in log.read_text())
        assert cluster.read(store, "/kedge/brokers/1") is None
