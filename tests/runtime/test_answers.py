"""What brokers answer: disks that are gone, deletions that are refused, garbage."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import (
    ErrorCode,
    HostResponse,
    StopReplicaRequest,
    TopicPartition,
)
from tests.runtime.world import cluster_of_three

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "fine",
        0,
        HostResponse(error=ErrorCode.STALE_CONTROLLER_EPOCH),
        HostResponse(error=ErrorCode.STALE_BROKER_EPOCH),
        HostResponse(errors=5),  # type: ignore[arg-type]
        HostResponse(errors={("t", 0): ErrorCode.NONE}),  # type: ignore[dict-item]
        HostResponse(errors={"t-0": ErrorCode.KAFKA_STORAGE_ERROR}),  # type: ignore[dict-item]
        HostResponse(errors={TopicPartition("other", 0): ErrorCode.NONE}),
        HostResponse(errors={T0: "56"}),  # type: ignore[dict-item]
        HostResponse(errors={T0: None}),  # type: ignore[dict-item]
        HostResponse(errors={T0: False}),  # type: ignore[dict-item]
        HostResponse(errors={T0: 0.0}),  # type: ignore[dict-item]
        HostResponse(errors={TopicPartition("T", 0): ErrorCode.KAFKA_STORAGE_ERROR}),
    ],
)
def test_garbage_and_errors_as_an_answer_count_as_not_delivered(answer: Any) -> None:
    """The request is reported and sent again; no deletion counts as acknowledged."""
    cluster = cluster_of_three()
    cluster.host.answer = lambda request: answer if request.broker_id in {3, 4} else HostResponse()
    cluster.done(cluster.move([4, 5, 6]))
    assert "callbacks of broker 4" in cluster.findings()
    cluster.done(cluster.move([1, 2]))
    assert cluster.controller.describe().replicas_to_delete > 0
    assert "not delivered" in cluster.findings()["callbacks of broker 3"]
    assert cluster.controller.is_active
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(1_000)
    assert cluster.findings() == {}
    assert cluster.controller.describe().replicas_to_delete == 0


def test_an_exception_that_cannot_say_what_it_is_acknowledges_nothing() -> None:
    class DumbError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def refuse(request: Any) -> HostResponse:
        if isinstance(request, StopReplicaRequest):
            raise DumbError
        return HostResponse()

    cluster = cluster_of_three()
    cluster.host.answer = refuse
    cluster.done(cluster.move([1, 2]))
    cluster.run()
    assert cluster.controller.describe().replicas_to_delete == 1
    assert cluster.findings()["callbacks of broker 3"] == "not delivered: DumbError"


def test_what_a_broker_says_begins_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Neither its host nor its reasons: a host's error may quote them. A finding has the same text."""

    def refuse(_: Any) -> HostResponse:
        raise RuntimeError("evil\nERROR all is lost\x1b[2J" + "!" * 10_000)

    cluster = cluster_of_three()
    cluster.host.answer = refuse
    cluster.done(cluster.move([1, 2]))
    cluster.run()
    finding = cluster.findings()["callbacks of broker 3"]
    assert finding.startswith(r"not delivered: RuntimeError: evil\nERROR all is lost\x1b[2J!")
    assert finding.isprintable()
    lines = [each.getMessage() for each in caplog.records if "will be repeated" in each.getMessage()]
    assert lines
    assert all(line.isprintable() and len(line) < 1000 for line in lines)


def test_numbers_that_came_over_a_wire_are_as_good_as_the_codes() -> None:
    cluster = cluster_of_three()
    tp = TopicPartition("t", 0)
    cluster.host.answer = lambda _: HostResponse(error=0, errors={tp: 0})  # type: ignore[arg-type,dict-item]
    cluster.done(cluster.move([1]))
    cluster.run()
    assert cluster.controller.describe().replicas_to_delete == 0
    assert cluster.findings() == {}
