"""A cluster for all tests of the part, a name for each test's topic, and the clients that are processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from kedge import NewTopic
from tests.clients import driven, machine
from tests.clients.cluster import Withheld

_numbers: Final = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Withheld]:
    """Three brokers in racks a, b and c, behind a gateway. The next test sees what one left behind: so each has a topic
    of its own, and no move of it goes on."""
    with Withheld() as opened:
        yield opened


@pytest.fixture(autouse=True)
def understood(cluster: Withheld) -> Iterator[None]:
    """Whatever a client sent in a test was read as it was meant: encoded again, it is the same bytes."""
    yield
    misread = list(cluster.tap.misread)
    cluster.tap.misread.clear()
    assert misread == []


@pytest.fixture
def topic() -> str:
    """A name that no test had before."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def named(cluster: Withheld, topic: str) -> Iterator[str]:
    """A topic on 1, 2 and on 2, 3. None of its moves goes on afterwards."""
    new = NewTopic(replica_assignments={0: (1, 2), 1: (2, 3)})
    cluster.controller.admin.create_topics({topic: new}).all().result(30)
    yield topic
    cluster.catch_up(topic)


OLD, NEW = machine.KAFKA_VERSIONS


@pytest.fixture(scope="session", params=[pytest.param(OLD, marks=pytest.mark.full), NEW])
def java(request: pytest.FixtureRequest, cluster: Withheld) -> Iterator[driven.JavaTools]:
    """Kafka's tools, of each version in turn."""
    with driven.JavaTools(request.param, cluster.bootstrap) as tools:
        yield tools


@pytest.fixture(scope="session")
def kafkajs(cluster: Withheld) -> Iterator[driven.Driven]:
    with driven.kafkajs(cluster.bootstrap) as client:
        yield client


@pytest.fixture(scope="session")
def kadm(cluster: Withheld) -> Iterator[driven.Driven]:
    with driven.in_go("kadm", cluster.bootstrap) as client:
        yield client


@pytest.fixture(scope="session")
def kafka_go(cluster: Withheld) -> Iterator[driven.Driven]:
    with driven.in_go("kafka-go", cluster.bootstrap) as client:
        yield client


@pytest.fixture(scope="session")
def sarama(cluster: Withheld) -> Iterator[driven.Driven]:
    with driven.in_go("sarama", cluster.bootstrap) as client:
        yield client
