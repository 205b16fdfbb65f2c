"""Requests about the logs of replicas, as hosts report them (KIP-113)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ..model.errors import ApiError
from ..model.requests import ReplicaLogDirInfo, TopicPartitionReplica
from ..model.view import ClusterView
from ..runtime.listing import describe_log
from ..runtime.log_reports import LogReports
from ..runtime.submit import Submitter
from .checks import as_all, as_timeout
from .results import Results

_TIMEOUT_S: Final = 60.0


class LogDirsAdmin:
    """The requests about logs, part of `Admin`."""

    _submitter: Submitter
    _log_reports: LogReports

    def _refusal(self, operation: str) -> Callable[[], ApiError] | None:
        raise NotImplementedError

    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout_s: float = _TIMEOUT_S
    ) -> Results[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Size in bytes and lag in records of replicas, from the latest reports by `Controller.report_log`, all as of
        one commit. Replicas that a move adds count as replicas.

        Errors per replica: UnknownTopicOrPartition; ReplicaNotAvailable if the broker has no replica of the partition,
        or no host has reported its log to this controller (a new controller starts without reports); StorageError if
        the broker reported a failed disk. TypeError if `replicas` does not hold TopicPartitionReplica.
        """
        wanted = list(dict.fromkeys(as_all(replicas, TopicPartitionReplica, "a set of TopicPartitionReplica")))
        if error := self._refusal("DESCRIBE"):
            return Results(self._submitter.failed_each(wanted, error))
        log_reports = self._log_reports

        def ask(view: ClusterView, replica: TopicPartitionReplica) -> ReplicaLogDirInfo | ApiError:
            return describe_log(view, log_reports, replica)

        return Results(self._submitter.query_each(wanted, ask, as_timeout(timeout_s)))
