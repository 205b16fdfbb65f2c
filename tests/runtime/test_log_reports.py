"""What hosts report of their logs: checked field by field, bounded, forgotten with the replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kedge import LogReport
from kedge.controller.runtime.log_reports import REPORTS_MAX, LogReports
from tests.runtime.world import cluster_of_three

GOOD = LogReport("t", 0, 1, 0, 0, 10, 8, 100)
NUMBERS = ("partition", "broker_id", "leader_epoch", "start_offset", "end_offset", "high_watermark", "size_bytes")


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize(
    "value, error",
    [(-1, ValueError), (2**63, ValueError), (True, TypeError), (1.0, TypeError), ("1", TypeError), (b"", TypeError)],
)
def test_a_number_of_a_report_is_an_int_that_eight_bytes_hold(field: str, value: Any, error: type) -> None:
    """The error names the field."""
    with pytest.raises(error, match=field):
        attrs.evolve(GOOD, **{field: value})


@pytest.mark.parametrize("field", NUMBERS)
def test_the_ends_of_the_range_are_in_it(field: str) -> None:
    """From 0 to 2^63-1."""
    for value in (0, 2**63 - 1):
        said: dict[str, Any] = {field: value}
        assert getattr(attrs.evolve(GOOD, **said), field) == value


@pytest.mark.parametrize("topic, error", [("", ValueError), (None, TypeError), (b"t", TypeError), (5, TypeError)])
def test_a_report_names_its_topic(topic: Any, error: type) -> None:
    """A str, and not an empty one."""
    with pytest.raises(error, match="topic"):
        attrs.evolve(GOOD, topic=topic)


def test_only_the_size_may_be_unknown() -> None:
    """None is no offset."""
    assert attrs.evolve(GOOD, size_bytes=None).size_bytes is None
    for field in NUMBERS[:-1]:
        unknown: dict[str, Any] = {field: None}
        with pytest.raises(TypeError, match=field):
            attrs.evolve(GOOD, **unknown)


def test_more_replicas_than_the_maximum_are_passed_over() -> None:
    """Those that are known are still kept up to date, and one that is forgotten makes room."""
    progress = LogReports(2)
    progress.report(LogReport("no-such-topic", partition, 1, 0, 0, 0, 0) for partition in range(5))
    assert len(progress) == 2
    progress.report([LogReport("no-such-topic", 1, 1, 0, 0, 7, 7)])
    assert progress.of("no-such-topic", 1, 1) == LogReport("no-such-topic", 1, 1, 0, 0, 7, 7)
    progress.report([GOOD])
    assert progress.of("t", 0, 1) is None
    progress.forget([("no-such-topic", 0, 1)])
    progress.report([GOOD])
    assert progress.of("t", 0, 1) is GOOD
    assert len(progress) == 2
    assert REPORTS_MAX >= 1_000_000


def test_reports_with_a_wrong_one_among_them_change_nothing() -> None:
    """All of a call, or none."""
    progress = LogReports()
    with pytest.raises(TypeError):
        progress.report([GOOD, None])  # type: ignore[list-item]
    assert len(progress) == 0


def test_reports_may_come_from_a_generator_that_reports_itself() -> None:
    """The callers' code does not run under the lock."""
    progress = LogReports()

    def reports() -> Iterator[LogReport]:
        progress.report([GOOD])
        yield attrs.evolve(GOOD, partition=1)

    progress.report(reports())
    assert len(progress) == 2


def test_a_replica_whose_deletion_was_acknowledged_is_forgotten() -> None:
    """Not before, and no other."""
    cluster = cluster_of_three()
    progress = cluster.controller._services.log_reports  # noqa: SLF001 - nothing public shows a single report
    cluster.controller.report_log(attrs.evolve(GOOD, broker_id=broker) for broker in (1, 2, 3))
    refuse = RuntimeError("not yet")

    def answer(_: Any) -> Any:
        raise refuse

    accept, cluster.host.answer = cluster.host.answer, answer
    cluster.done(cluster.move([1, 2]))
    assert progress.of("t", 0, 3) is not None
    cluster.host.answer = accept
    cluster.wait(1000)
    assert cluster.controller.describe().replicas_to_delete == 0
    assert [progress.of("t", 0, broker) is not None for broker in (1, 2, 3)] == [True, True, False]


def test_the_largest_sizes_end_no_term() -> None:
    """What a move copied is their sum, however large."""
    cluster = cluster_of_three()
    cluster.controller.report_log(LogReport("t", 0, b, *[2**63 - 1] * 5) for b in range(1, 7))
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.isr([1, 2, 3, 4, 5, 6]))
    assert cluster.partition().replicas == (4, 5, 6)
    assert cluster.controller.is_active
