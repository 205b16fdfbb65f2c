"""What the tests of this folder share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from kedge.stores import MetadataStore
from tests.kafka_brokers.cluster import FollowingCluster


@pytest.fixture(scope="module")
def store(cluster: FollowingCluster) -> Iterator[MetadataStore]:
    with contextlib.closing(cluster.store()) as found:
        yield found
