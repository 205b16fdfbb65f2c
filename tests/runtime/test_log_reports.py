"""What hosts report of their logs: checked field by field, bounded, forgotten with the replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kedge import HostResponse, LogReport, TopicPartition
from tests.runtime.world import Cluster, cluster_of_three, failing

T0 = TopicPartition("t", 0)
GOOD = LogReport("t", 0, 1, 0, 0, 10, 8, 100)
NUMBERS = ("partition", "broker_id", "leader_epoch", "start_offset", "end_offset", "high_watermark", "size_bytes")


def with_field(field: str, value: Any) -> LogReport:
    fields: dict[str, Any] = {field: value}
    return attrs.evolve(GOOD, **fields)


@pytest.mark.parametrize("field", NUMBERS)
def test_number_of_a_report_is_an_int_that_eight_bytes_hold(field: str) -> None:
    """The error names the field. Only the size may be unknown: None is no offset."""
    for good in (0, 2**63 - 1):
        assert getattr(with_field(field, good), field) == good
    for wrong in (-1, 2**63):
        with pytest.raises(ValueError, match=field):
            with_field(field, wrong)
    for kind in (True, 1.0, "1", b"", *(() if field == "size_bytes" else (None,))):
        with pytest.raises(TypeError, match=field):
            with_field(field, kind)
    assert attrs.evolve(GOOD, size_bytes=None).size_bytes is None


@pytest.mark.parametrize("topic, error", [("", ValueError), (None, TypeError), (b"t", TypeError), (5, TypeError)])
def test_a_report_names_its_topic(topic: Any, error: type) -> None:
    with pytest.raises(error, match="topic"):
        attrs.evolve(GOOD, topic=topic)


def test_reports_with_a_wrong_one_among_them_change_nothing() -> None:
    controller = Cluster().controller
    with pytest.raises(TypeError):
        controller.report_log([GOOD, None])  # type: ignore[list-item]
    assert controller.reported_log(T0, 1) is None


def test_reports_may_come_from_a_generator_that_reports_itself() -> None:
    """The callers' code does not run under the lock."""
    controller = Cluster().controller

    def reports() -> Iterator[LogReport]:
        controller.report_log(GOOD)
        yield attrs.evolve(GOOD, partition=1)

    controller.report_log(reports())
    assert controller.reported_log(T0, 1) == GOOD
    assert controller.reported_log(TopicPartition("t", 1), 1) is not None


def test_a_replica_whose_deletion_was_acknowledged_is_forgotten() -> None:
    cluster = cluster_of_three()

    def reported() -> list[bool]:
        return [cluster.controller.reported_log(T0, broker) is not None for broker in (1, 2, 3)]

    cluster.controller.report_log(attrs.evolve(GOOD, broker_id=broker) for broker in (1, 2, 3))
    cluster.host.answer = failing(3)
    cluster.done(cluster.move([1, 2]))
    assert reported() == [True, True, True]
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(1000)
    assert cluster.controller.describe().replicas_to_delete == 0
    assert reported() == [True, True, False]


def test_the_largest_sizes_end_no_term() -> None:
    cluster = cluster_of_three()
    cluster.controller.report_log(LogReport("t", 0, b, *[2**63 - 1] * 5) for b in range(1, 7))
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.isr([1, 2, 3, 4, 5, 6]))
    assert cluster.partition().replicas == (4, 5, 6)
    assert cluster.controller.is_active
