"""What hosts report of their logs: progress, lag and "empty" are made of it. In memory only; never needed to decide."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import attrs


@attrs.frozen(weakref_slot=False)
class LogReport:
    """A replica's log: offsets in records, `size_bytes` where known. TypeError where a field is no int."""

    topic: str
    partition: int
    broker_id: int
    leader_epoch: int
    start_offset: int
    end_offset: int
    high_watermark: int
    size_bytes: int | None = None

    def __attrs_post_init__(self) -> None:
        numbers = (self.partition, self.broker_id, self.leader_epoch, self.start_offset, self.end_offset)
        if type(self.topic) is not str or any(type(n) is not int for n in (*numbers, self.high_watermark)):
            raise TypeError(f"a LogReport holds a str and ints: {self!r:.200}")


class Progress:
    """The last report of each replica. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: dict[tuple[str, int, int], LogReport] = {}

    def report(self, reports: Iterable[LogReport]) -> None:
        with self._lock:
            for report in reports:
                if not isinstance(report, LogReport):
                    raise TypeError(f"a LogReport is asked for, not {report!r:.200}")
                self._reports[report.topic, report.partition, report.broker_id] = report

    def of(self, topic: str, partition: int, broker_id: int) -> LogReport | None:
        return self._reports.get((topic, partition, broker_id))

    def forget(self, topic: str, partition: int, broker_id: int) -> None:
        """The replica was deleted."""
        with self._lock:
            self._reports.pop((topic, partition, broker_id), None)

    def bytes_of(self, topic: str, partition: int, brokers: Iterable[int]) -> int | None:
        """The bytes that these replicas hold together, None where no size was reported."""
        found = [self.of(topic, partition, broker) for broker in brokers]
        sizes = [report.size_bytes for report in found if report is not None and report.size_bytes is not None]
        return sum(sizes) if sizes else None
