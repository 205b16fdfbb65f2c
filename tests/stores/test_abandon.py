"""A client that dies without a word: its session, and what it holds, live until the server ends it by its own clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from kedge.stores import ABSENT, Closed, Put, open_store
from kedge.stores.etcd.store import EtcdStore
from kedge.stores.zookeeper import ZooKeeperStore
from tests.conformance.zookeeper import server as zookeeper
from tests.kit.waiting import until
from tests.stores.etcd.served import fresh_root
from tests.stores.etcd.served import server as etcd

pytestmark = [pytest.mark.server, pytest.mark.full]
SESSION_S = 2


def zookeeper_url() -> str:
    return f"zookeeper://{zookeeper().address}/abandon{fresh_root()}?session_timeout={SESSION_S}"


def etcd_url() -> str:
    return etcd().url(fresh_root(), session_timeout=SESSION_S)


@pytest.mark.parametrize("make", [zookeeper_url, etcd_url], ids=["zookeeper", "etcd"])
def test_an_abandoned_session_outlives_its_client_and_ends_by_itself(make: Callable[[], str]) -> None:
    """Calls raise Closed, the key stands for a while, and goes; no thread of the client is left."""
    url = make()
    with closing(open_store(url)) as other:
        before = set(threading.enumerate())
        store = open_store(url)
        assert isinstance(store, ZooKeeperStore | EtcdStore)
        store.commit([Put("/e", b"1", ABSENT, ephemeral=True)], timeout_s=10)
        store.abandon()
        died_s = time.monotonic()
        with pytest.raises(Closed):
            store.get("/e", timeout_s=1)
        assert other.get("/e", sync=True, timeout_s=10) is not None
        until(lambda: other.get("/e", sync=True, timeout_s=10) is None)
        assert time.monotonic() - died_s > SESSION_S / 4
        store.close()
        until(lambda: {t for t in threading.enumerate() if t.name.startswith("kedge")} <= before)
