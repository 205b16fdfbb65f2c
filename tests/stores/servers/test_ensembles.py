"""Three servers that are one store: one may be lost, or cut off, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import tenacity

from kedge.stores import ABSENT, Conflict, MetadataStore, OutcomeUnknown, Put, Unavailable, open_store
from servers import EtcdEnsemble, NoServer, ZooKeeperEnsemble
from servers.process import birth

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

WAIT_S = 60.0
CALL_S = 5.0
Three = ZooKeeperEnsemble | EtcdEnsemble
KINDS = pytest.mark.parametrize("kind", [ZooKeeperEnsemble, EtcdEnsemble], ids=["zookeeper", "etcd"])


@pytest.fixture
def cabled(kind: type[Three]) -> Iterator[Three]:
    try:
        made = kind(network=True, durable=False)
    except NoServer as error:
        pytest.skip(str(error))
    with made:
        yield made


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((Unavailable, OutcomeUnknown)),
    stop=tenacity.stop_after_delay(WAIT_S),
    wait=tenacity.wait_fixed(0.05),
    reraise=True,
)
def put(store: MetadataStore, key: str) -> None:
    """The key is there afterwards, however often that has to be tried."""
    try:
        store.commit([Put(key, b"", ABSENT)], timeout_s=CALL_S)
    except Conflict:
        assert store.get(key, sync=True, timeout_s=CALL_S) is not None


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((Unavailable, OutcomeUnknown)),
    stop=tenacity.stop_after_delay(WAIT_S),
    wait=tenacity.wait_fixed(0.05),
    reraise=True,
)
def names(url: str) -> list[str]:
    """What stands there, as the server of the url alone knows it."""
    with closing(open_store(url)) as store:
        store.get("/a", sync=True, timeout_s=CALL_S)
        return sorted(store.children("/a", timeout_s=CALL_S))


@KINDS
def test_an_ensemble_that_loses_its_leader_answers_again_and_takes_the_lost_one_back(kind: type[Three]) -> None:
    with kind(durable=False) as ensemble:
        assert len(ensemble.nodes) == 3
        lost = ensemble.leader()
        with closing(open_store(ensemble.url("/x", session_timeout=6))) as store:
            put(store, "/a/before")
            lost.kill()
            put(store, "/a/without")
        assert ensemble.leader() is not lost
        assert not lost.running
        lost.start()
        assert names(lost.url("/x")) == ["before", "without"]
        pids, folder = [node.pid for node in ensemble.nodes], ensemble.folder
    assert not any(map(birth, pids))
    assert not folder.exists()
    ensemble.close()


@KINDS
def test_data_outlive_a_stop_of_all_nodes(kind: type[Three]) -> None:
    """And the ports are the same, so that clients find them again."""
    with kind(durable=False) as ensemble:
        url = ensemble.url("/x")
        with closing(open_store(url)) as store:
            put(store, "/a/kept")
        ensemble.stop()
        assert not any(node.running for node in ensemble.nodes)
        ensemble.start()
        assert ensemble.url("/x") == url
        assert names(url) == ["kept"]


@KINDS
@pytest.mark.usefixtures("kind")
def test_a_leader_that_is_cut_off_is_replaced_and_follows_when_it_is_mended(cabled: Three) -> None:
    """No client can write to the one that was cut off; the others go on, and it learns of it afterwards."""
    ensemble = cabled
    with closing(open_store(ensemble.url("/x", session_timeout=6))) as store:
        put(store, "/a/before")
        cut = ensemble.leader()
        ensemble.cut(cut)  # type: ignore[arg-type]
        put(store, "/a/meanwhile")
        assert ensemble.leader() is not cut
        with pytest.raises((Unavailable, OutcomeUnknown)):
            open_store(cut.url("/x", connect_timeout=1))
        assert cut.running
        ensemble.mend(cut)  # type: ignore[arg-type]
        put(store, "/a/after")
    assert names(cut.url("/x")) == ["after", "before", "meanwhile"]


def test_nodes_of_the_loopback_interface_are_not_cut() -> None:
    ensemble = EtcdEnsemble()
    with closing(ensemble), pytest.raises(ValueError, match=r"use EtcdEnsemble\(network=True\)"):
        ensemble.cut(ensemble.nodes[0])


def test_an_ensemble_without_a_leader_says_so_in_time() -> None:
    with closing(EtcdEnsemble()) as ensemble, pytest.raises(NoServer, match="one node leads"):
        ensemble.leader(timeout_s=0.2)
