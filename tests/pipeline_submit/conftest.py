"""Clusters with plans, whose journals are closed at the end of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.cluster import Cluster
from tests.pipeline_submit.clusters import Made, make
from tests.pipeline_submit.served import KAFKAS_KEYS, LAYOUT, RACKS, fill
from tests.wire.living import Living


@pytest.fixture
def making(tmp_path: Path) -> Iterator[Callable[..., Made]]:
    """`make`, in folders of the test's own."""
    found: list[Made] = []

    def making_one(**options: object) -> Made:
        found.append(make(tmp_path / str(len(found)), **options))  # type: ignore[arg-type]
        return found[-1]

    yield making_one
    for made in found:
        made.close()


@pytest.fixture
def made(making: Callable[..., Made]) -> Made:
    """Four waves of two moves each."""
    return making()


@pytest.fixture
def living(request: pytest.FixtureRequest) -> Iterator[Living]:
    """Brokers with the topic `orders`. The parameter "kedge": every API; otherwise those that Kafka has."""
    keys = range(2**15) if getattr(request, "param", "") == "kedge" else KAFKAS_KEYS
    with Living(RACKS, keys=keys) as opened:
        opened.topic("orders", LAYOUT)
        fill(opened.bootstrap, "orders", len(LAYOUT), 5)
        yield opened


@pytest.fixture
def cluster(living: Living) -> Iterator[Cluster]:
    with connected(Endpoint(living.bootstrap)) as found:
        yield found
