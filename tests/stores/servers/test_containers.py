"""Stores in containers, through testcontainers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from kedge.stores import ABSENT, Put, open_store
from servers.containers import EtcdContainer, StoreContainer, ZooKeeperContainer
from tests.left_out import skip_if_left_out

pytestmark = [pytest.mark.server, pytest.mark.full]

CALL_S = 10.0


@pytest.fixture(params=[EtcdContainer, ZooKeeperContainer], ids=["etcd", "zookeeper"])
def container(request: pytest.FixtureRequest) -> Iterator[StoreContainer]:
    skip_if_left_out("containers")
    with request.param() as started:
        yield started


def test_a_store_in_a_container_keeps_what_is_committed(container: StoreContainer) -> None:
    with closing(open_store(container.url("/mine"))) as store:
        store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
    with closing(open_store(container.url("/mine"))) as store:
        assert store.get("/a", timeout_s=CALL_S) is not None
