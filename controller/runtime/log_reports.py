"""Hosts' reports about logs, from which progress, lag and emptiness are computed. Kept in memory; no decision needs
them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any, Final

import attrs

_log = logging.getLogger(__name__)

REPORTS_MAX: Final = 5_000_000
_INT64_MAX: Final = 2**63 - 1


def _check_number(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{attribute.name} must be an int, not {value!r:.80}")
    if not 0 <= value <= _INT64_MAX:
        raise ValueError(f"{attribute.name} must be within 0..2^63-1, not {value}")


def _check_size(instance: object, attribute: attrs.Attribute[int | None], value: object) -> None:
    if value is not None:
        _check_number(instance, attribute, value)


def _check_topic(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if type(value) is not str:
        raise TypeError(f"{attribute.name} must be a str, not {value!r:.80}")
    if not value:
        raise ValueError(f"{attribute.name} must not be empty")


@attrs.frozen
class LogReport:
    """A replica's log: offsets in records, `size_bytes` if known. TypeError if a field is not an int (`topic`: a str),
    ValueError for an empty topic and for a number outside 0..2^63-1."""

    topic: str = attrs.field(validator=_check_topic)
    partition: int = attrs.field(validator=_check_number)
    broker_id: int = attrs.field(validator=_check_number)
    leader_epoch: int = attrs.field(validator=_check_number)
    start_offset: int = attrs.field(validator=_check_number)
    end_offset: int = attrs.field(validator=_check_number)
    high_watermark: int = attrs.field(validator=_check_number)
    size_bytes: int | None = attrs.field(default=None, validator=_check_size)

    def lag_behind(self, leader: LogReport | None) -> int:
        """How many committed records this log lacks: as the leader reported them, or without a report of the leader, as
        this replica reported them."""
        return max((leader or self).high_watermark - self.end_offset, 0)


class LogReports:
    """The latest report of each replica, for at most `reports_max` replicas; reports of further ones are skipped. It
    does not check that a replica exists. Thread-safe."""

    def __init__(self, reports_max: int = REPORTS_MAX) -> None:
        self._lock = threading.Lock()
        self._reports: dict[tuple[str, int, int], LogReport] = {}
        self._reports_max = reports_max
        self._warned = False

    def __len__(self) -> int:
        return len(self._reports)

    def report(self, reports: Iterable[LogReport]) -> None:
        """Add all reports, or raise TypeError and add none."""
        found = list(reports)  # runs the caller's generator before the lock, which the loop needs too
        for report in found:
            if not isinstance(report, LogReport):
                raise TypeError(f"expected a LogReport, not {report!r:.200}")
        with self._lock:
            for report in found:
                self._take(report)

    def _take(self, report: LogReport) -> None:
        replica = (report.topic, report.partition, report.broker_id)
        if len(self._reports) < self._reports_max or replica in self._reports:
            self._reports[replica] = report
        elif not self._warned:
            self._warned = True
            _log.warning("reports of more than %d replicas: those of further replicas are skipped", self._reports_max)

    def of(self, topic: str, partition: int, broker_id: int) -> LogReport | None:
        return self._reports.get((topic, partition, broker_id))

    def forget(self, replicas: Iterable[tuple[str, int, int]]) -> None:
        """Remove the reports of deleted replicas (topic, partition, broker)."""
        if self._reports:
            with self._lock:
                for replica in replicas:
                    self._reports.pop(replica, None)

    def bytes_of(self, topic: str, partition: int, brokers: Iterable[int]) -> int | None:
        """The bytes of these replicas together, None if no size was reported."""
        found = [self.of(topic, partition, broker) for broker in brokers]
        sizes = [report.size_bytes for report in found if report is not None and report.size_bytes is not None]
        return sum(sizes) if sizes else None
