"""ReportLogs: the state of a broker's logs, for progress, lag and sizes. No decision depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...model.errors import ErrorCode
from ...model.view import ClusterView
from ...runtime.log_reports import LogReport
from ..apis.answering import by_topic, outcome
from ..calls import OF_BROKER, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request

REPORTED: Final = messages_of("ReportLogs")
_UNKNOWN: Final = -1  # of a size


async def report_logs(call: Call, request: Request) -> Answer:
    """All reports are taken, or none (42: an invalid number or name), except for those of an unknown partition or of
    a broker that is not live: what is kept must not grow with what a client invents."""
    try:
        reports = [
            LogReport(
                topic.name,
                log.partition_index,
                request.broker_id,
                log.leader_epoch,
                log.start_offset,
                log.end_offset,
                log.high_watermark,
                None if log.size_bytes == _UNKNOWN else log.size_bytes,
            )
            for topic in request.topics
            for log in topic.partitions
        ]
    except ValueError:
        return {"error_code": ErrorCode.INVALID_REQUEST}
    known = await outcome(call.query(_known, reports))
    if not known.error_code:
        call.controller.report_log(known.value)
    return {"error_code": known.error_code}


def _known(reports: list[LogReport], view: ClusterView) -> list[LogReport]:
    counts = {topic: view.partition_count(topic) for topic in {each.topic for each in reports}}
    return [each for each in reports if each.partition < counts[each.topic] and each.broker_id in view.brokers]


def as_fields(broker_id: int, reports: Iterable[LogReport]) -> dict[str, Any]:
    topics = by_topic((report.topic, _row(report)) for report in reports)
    return {"broker_id": broker_id, "topics": [{"name": n, "partitions": rows} for n, rows in topics.items()]}


def _row(report: LogReport) -> dict[str, Any]:
    return {
        "partition_index": report.partition,
        "leader_epoch": report.leader_epoch,
        "start_offset": report.start_offset,
        "end_offset": report.end_offset,
        "high_watermark": report.high_watermark,
        "size_bytes": _UNKNOWN if report.size_bytes is None else report.size_bytes,
    }


REPORTS: Final = Api(REPORTED, report_logs, OF_BROKER)
