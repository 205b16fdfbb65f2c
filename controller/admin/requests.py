"""What every request of one principal needs: its authorizer, one nonce, and a reply for each thing that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from ..model.errors import ApiError, ClusterAuthorizationFailed
from ..model.events import Event
from ..model.view import ClusterView
from ..runtime.clock import IdSource
from ..runtime.log_reports import LogReports
from ..runtime.replies import Reply
from ..runtime.submit import Submitter
from .checks import as_timeout
from .hooks import Hooks
from .results import Results

K = TypeVar("K")
V = TypeVar("V")

TIMEOUT_S: Final = 60.0


class Requests:
    """The base of the parts of `Admin`."""

    def __init__(
        self,
        submitter: Submitter,
        id_source: IdSource,
        log_reports: LogReports,
        *,
        principal: str | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._submitter = submitter
        self._id_source = id_source
        self._log_reports = log_reports
        self._principal = principal
        self._hooks = hooks or Hooks()

    def authorize(self, operation: str) -> None:
        """Raise ClusterAuthorizationFailed if the principal may not do `operation` on the cluster. For requests that
        are served outside this API on behalf of the same principal."""
        refusal = self._refusal(operation)
        if refusal is not None:
            raise refusal()

    def _refusal(self, operation: str) -> Callable[[], ApiError] | None:
        """What makes the error for a principal that may not do `operation` on the cluster; None if it may."""
        authorizer = self._hooks.authorizer
        if authorizer is None or self._principal is None:
            return None
        if authorizer(self._principal, operation, "CLUSTER"):
            return None
        message = f"{self._principal} may not {operation} CLUSTER"
        return lambda: ClusterAuthorizationFailed(message)

    def _change_each(
        self,
        operation: str,
        cause: str,
        wanted: Mapping[K, V],
        make: Callable[[int, K, V], Event],
        timeout_s: float,
    ) -> Results[K, Any]:
        """One request with an event for each key; `make` gets the time, the key and its value."""
        if error := self._refusal(operation):
            return Results(self._submitter.failed_each(wanted, error))
        now_ms, request, timeout_ms = self._submitter.now_ms(), self._id_source.nonce(), as_timeout(timeout_s)
        events = [(key, make(now_ms, key, value)) for key, value in wanted.items()]
        return Results(self._submitter.submit(self._submitter.jobs(events, timeout_ms, cause, request)))

    def _look_up_each(
        self, operation: str, wanted: Iterable[K], find: Callable[[ClusterView, K], object], timeout_s: float
    ) -> Results[K, Any]:
        """A value or an error for each key, all as of one commit."""
        keys = list(dict.fromkeys(wanted))
        if error := self._refusal(operation):
            return Results(self._submitter.failed_each(keys, error))
        return Results(self._submitter.query_each(keys, find, as_timeout(timeout_s)))

    def _change_all(
        self,
        operation: str,
        cause: str,
        make: Callable[[ClusterView], Mapping[K, Event]],
        timeout_s: float,
        leave_out: tuple[type[Exception], ...] = (),
    ) -> Future[dict[K, Any]]:
        """One request with the events that `make` finds; its answer has that of each, but for errors to leave out."""
        return self._whole(
            operation,
            lambda: self._submitter.expand_all(make, as_timeout(timeout_s), cause, self._id_source.nonce(), leave_out),
        )

    def _whole(self, operation: str, send: Callable[[], Reply[V]]) -> Future[V]:
        """The future of a request that has one answer."""
        if error := self._refusal(operation):
            return self._submitter.failed(error()).future()
        return send().future()
