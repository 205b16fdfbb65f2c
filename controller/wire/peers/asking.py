"""Requests of this process' brokers to an active controller in another process: AlterPartition and ReportLogs, through
the gateway beside them, which forwards them as it does for clients.

* The isr changes of a broker are sent one request after the other; changes that come meanwhile go into the next one.
* What is not answered ends with an error: the caller repeats it. The error is NotController where this process has the
  active controller by now.
* Log reports contain what changed since the last one, and everything when the active controller changes or after
  `TOLD_S`. Lost reports are made up for by the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from itertools import count, groupby, islice
from typing import Any, Final, TypeVar

import attrs

from ...model.errors import ApiError, ErrorCode, NotController
from ...model.requests import AcceptedIsr
from ...model.values import TopicPartition
from ...runtime.log_reports import LogReport
from ..apis import APIS
from ..errors import Refused
from ..messages import AlterPartitionRequest
from ..protocol import SIZE, Header, Messages, read_answer, write_request
from ..remote.link import messages
from ..remote.reporting import REPORTED, as_fields
from ..security.users import GATEWAY
from .forwarding import Forwarding, Way

TOLD_S: Final = 5.0
LOGS_MAX: Final = 2000  # of one ReportLogs
_ALTER: Final = messages(AlterPartitionRequest.API_KEY)
_BY_NAME: Final = 1  # the version in which topics go by their names
_PRINCIPAL: Final = f"User:{GATEWAY}"
_ERRORS: Final = {kind.code: kind for kind in ApiError.__subclasses__()}
T = TypeVar("T")
log = logging.getLogger(__name__)


@attrs.frozen(eq=False)
class _Change:
    """A change of the isr, requested by a leader."""

    tp: TopicPartition
    broker_id: int
    broker_epoch: int
    row: dict[str, Any]
    future: Future[AcceptedIsr]


@attrs.define(eq=False)
class _Line:
    """Of one broker: the connection for one kind of request, and the task that sends them."""

    way: Way = attrs.field(factory=Way)
    task: asyncio.Task[None] | None = None


@attrs.define(eq=False)
class _Changes(_Line):
    """The changes that wait."""

    waiting: list[_Change] = attrs.field(factory=list)


@attrs.define(eq=False)
class _Reports(_Line):
    """The reports that are due, and those that were sent, to which controller, and until when they count."""

    due: dict[TopicPartition, LogReport] = attrs.field(factory=dict)
    told: dict[TopicPartition, LogReport] = attrs.field(factory=dict)
    told_to: int | None = None
    told_until: float = 0.0


class Asking:
    """Of one gateway, on its loop; any thread may call its methods, and they return at once."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changes: dict[int, _Changes] = {}
        self._reports: dict[int, _Reports] = {}
        self._numbers = count(1)

    def open(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """All that wait get NotController."""
        self._loop = None
        lines: list[_Line] = [*self._changes.values(), *self._reports.values()]
        tasks = [line.task for line in lines if line.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in lines:
            line.way.close()

    # --- from any thread

    def alter_isr(  # noqa: PLR0917 - as the controller's
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
    ) -> Future[AcceptedIsr]:
        """As `Controller.alter_isr`. Errors as there, and 41 where no active controller is found."""
        future: Future[AcceptedIsr] = Future()
        row = {
            "partition_index": tp.partition,
            "leader_epoch": leader_epoch,
            "new_isr": list(new_isr),
            "partition_epoch": partition_epoch,
        }
        if not self._soon(self._changed, _Change(tp, leader, broker_epoch, row, future)):
            future.set_exception(_no_leader())
        return future

    def report_log(self, reports: Iterable[LogReport]) -> None:
        """As `Controller.report_log`, with all reports of one broker."""
        found = list(reports)
        if found:
            self._soon(self._reported, found)

    def ask(self, api_key: int, version: int, fields: dict[str, Any]) -> Future[Any]:
        """The answer of the active controller's gateway to any request of a client. Raises NotController as above."""
        loop = self._loop
        if loop is None:
            raise _no_leader()
        return asyncio.run_coroutine_threadsafe(self._once(APIS[api_key].messages, version, fields), loop)

    def _soon(self, call: Callable[[T], None], argument: T) -> bool:
        """Whether the loop will make the call."""
        loop = self._loop
        if loop is None:
            return False
        try:
            loop.call_soon_threadsafe(call, argument)
        except RuntimeError:  # the loop was closed meanwhile
            return False
        return True

    # --- on the loop

    async def _once(self, api: Messages, version: int, fields: dict[str, Any]) -> Any:
        way = Way()
        try:
            return await self._answer(way, api, version, fields)
        finally:
            way.close()

    async def _answer(self, way: Way, api: Messages, version: int, fields: dict[str, Any]) -> Any:
        header = Header(api.api_key, version, next(self._numbers) % 2**31, GATEWAY)
        frame = write_request(api, header, fields)[SIZE.size :]
        answer = await self._forwarding.forward(way, frame, _PRINCIPAL, None)
        if answer is None:
            raise _no_leader()
        return read_answer(api, header, answer[SIZE.size :])

    # --- changes of an isr

    def _changed(self, change: _Change) -> None:
        if self._loop is None:
            change.future.set_exception(_no_leader())
            return
        line = self._changes.setdefault(change.broker_id, _Changes())
        line.waiting.append(change)
        if line.task is None:
            line.task = asyncio.create_task(self._alter(line))

    async def _alter(self, line: _Changes) -> None:
        try:
            while line.waiting:
                taken, line.waiting = line.waiting, []
                for epoch, changes in groupby(taken, key=lambda change: change.broker_epoch):
                    await self._altered(line.way, epoch, list(changes))
        finally:
            line.task = None
            for change in line.waiting:
                change.future.set_exception(_no_leader())

    async def _altered(self, way: Way, broker_epoch: int, changes: list[_Change]) -> None:
        topics: dict[str, list[dict[str, Any]]] = {}
        for change in changes:
            topics.setdefault(change.tp.topic, []).append(change.row)
        rows = [{"topic_name": name, "partitions": partitions} for name, partitions in topics.items()]
        fields = {"broker_id": changes[0].broker_id, "broker_epoch": broker_epoch, "topics": rows}
        try:
            answer = await self._answer(way, _ALTER, _BY_NAME, fields)
        except Exception as error:  # noqa: BLE001 - it is raised to the callers, by their futures
            for change in changes:
                change.future.set_exception(error)
            return
        except asyncio.CancelledError:
            for change in changes:
                change.future.set_exception(_no_leader())
            raise
        found = {(topic.topic_name, p.partition_index): p for topic in answer.topics for p in topic.partitions}
        for change in changes:
            row: Any = found.get((change.tp.topic, change.tp.partition))
            code = answer.error_code or (ErrorCode.UNKNOWN_SERVER_ERROR if row is None else row.error_code)
            if code:
                change.future.set_exception(_error(code))
            else:
                change.future.set_result(AcceptedIsr(tuple(row.isr), row.partition_epoch))

    # --- reports of logs

    def _reported(self, reports: list[LogReport]) -> None:
        if self._loop is None:
            return
        now = self._loop.time()
        line = self._reports.setdefault(reports[0].broker_id, _Reports())
        if line.told_to != self._forwarding.active_id or now >= line.told_until:
            line.told, line.told_to, line.told_until = {}, self._forwarding.active_id, now + TOLD_S
        found = {TopicPartition(each.topic, each.partition): each for each in reports}
        line.told = {tp: told for tp, told in line.told.items() if tp in found}
        line.due = {tp: report for tp, report in found.items() if line.told.get(tp) != report}
        if line.due and line.task is None:
            line.task = asyncio.create_task(self._report(line, reports[0].broker_id))

    async def _report(self, line: _Reports, broker_id: int) -> None:
        try:
            while line.due:
                part = dict(islice(line.due.items(), LOGS_MAX))
                for tp in part:
                    del line.due[tp]
                answer = await self._answer(line.way, REPORTED, 0, as_fields(broker_id, part.values()))
                if not answer.error_code:
                    line.told |= part
        except (ApiError, Refused) as error:
            log.debug("the state of the logs will be reported later: %r", error)
        finally:
            line.task = None


def _no_leader() -> NotController:
    return NotController("no active controller is reached through this gateway")


def _error(code: int) -> ApiError:
    """An error with the class of its number, which callers distinguish."""
    kind = _ERRORS.get(ErrorCode(code), ApiError) if code in set(ErrorCode) else ApiError
    return kind(f"the active controller answered with error {code}")
