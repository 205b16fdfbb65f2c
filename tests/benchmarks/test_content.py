"""Realistic content is what docs/performance.md claims of it."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from statistics import median

import pytest

from benchmarks.cluster import QuietHost, plant
from benchmarks.content import CONTENTS, REALISTIC_BROKERS, Made, topics_of
from kedge import Controller
from kedge.stores import MemoryServer, MemoryStore

TOPICS, PARTITIONS = 500, 10


def made(content: str) -> list[Made]:
    return list(topics_of(content, TOPICS, PARTITIONS, 10))


@pytest.mark.parametrize("content", CONTENTS)
def test_both_contents_have_as_many_topics_and_partitions(content: str) -> None:
    found = made(content)
    assert len(found) == TOPICS
    assert sum(len(topic.partitions) for topic in found) == TOPICS * PARTITIONS
    assert all(p.leader in p.isr and sorted(p.isr) == sorted(p.replicas) for topic in found for p in topic.partitions)


@pytest.mark.slow
@pytest.mark.parametrize("content", CONTENTS)
def test_content_is_the_same_in_each_run(content: str) -> None:
    assert made(content) == made(content)


def test_planted_content_has_few_distinct_rows() -> None:
    assert len({(p.replicas, p.isr, p.leader_epoch) for topic in made("planted") for p in topic.partitions}) == 10


@pytest.mark.slow
def test_realistic_content_hardly_repeats_a_row() -> None:
    rows = list(chain.from_iterable(topic.partitions for topic in made("realistic")))
    assert len({(p.replicas, p.isr, p.leader_epoch) for p in rows}) > 0.99 * len(rows)
    assert len({p.leader_epoch for p in rows}) > 900
    assert len({epoch for topic in made("realistic") for epoch in topic.controller_epochs}) > 50


def test_realistic_content_reorders_three_isrs_of_ten() -> None:
    rows = list(chain.from_iterable(topic.partitions for topic in made("realistic")))
    assert 0.27 < sum(p.isr != p.replicas for p in rows) / len(rows) < 0.33


def test_realistic_replicas_are_spread_over_100_brokers() -> None:
    held = Counter(b for topic in made("realistic") for p in topic.partitions for b in p.replicas)
    assert len(held) == REALISTIC_BROKERS == 100
    assert max(held.values()) < 2 * min(held.values())


def test_realistic_topic_sizes_are_heavy_tailed() -> None:
    sizes = sorted(len(topic.partitions) for topic in made("realistic"))
    assert sum(sizes[-TOPICS // 10 :]) > 0.35 * sum(sizes)
    assert max(sizes) > 20 * median(sizes)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_controller_reads_what_was_made(content: str) -> None:
    server = MemoryServer()
    plant(MemoryStore(server), 20, PARTITIONS, 10, content)
    with Controller(MemoryStore(server), 1, QuietHost()) as controller:
        while not controller.is_active:
            controller.poll_once()
        read = controller.query(lambda view: list(view.partitions()))
        controller.poll_once()
        assert not controller.describe().findings
        epoch = controller.controller_epoch
    wanted = list(topics_of(content, 20, PARTITIONS, 10))
    key = {(p.topic, p.partition): (p.replicas, p.isr, p.leader_epoch) for p in read.result(0)}
    assert key == {(p.topic, p.partition): (p.replicas, p.isr, p.leader_epoch) for t in wanted for p in t.partitions}
    assert epoch is not None
    assert epoch > max(max(topic.controller_epochs) for topic in wanted) or content == "planted"
