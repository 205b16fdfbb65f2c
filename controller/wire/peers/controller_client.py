"""Requests of this process' brokers to an active controller in another process: AlterPartition and ReportLogs, through
the gateway beside them, which forwards them as it does for clients.

* The requests of a broker are sent one after the other, those of each kind for themselves, on other connections than
  those of clients.
* What is not answered ends with an error: the caller repeats it. The error is NotController where this process has the
  active controller by now.
* Log reports contain what changed since the last one, and everything after `FULL_S`: that makes up for lost reports,
  and tells a controller that became active meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import Any, Final, TypeVar

import attrs

from ...model.errors import ApiError, ErrorCode, NotController
from ...model.requests import AcceptedIsr
from ...model.values import TopicPartition
from ...runtime.log_reports import LogReport
from ..apis import APIS
from ..errors import Refused
from ..messages import messages_of
from ..protocol import SIZE, Header, Messages, read_answer, write_request
from ..remote.reporting import REPORTED, as_fields
from ..security.users import GATEWAY
from .forwarding import Forwarding
from .links import Links
from .relay import Relayed

FULL_S: Final = 5.0
LOGS_MAX: Final = 2000  # of one ReportLogs
_ALTER: Final = messages_of("AlterPartition")
_BY_NAME: Final = 1  # the version in which topics go by their names
_PRINCIPAL: Final = f"User:{GATEWAY}"
_ERRORS: Final = {kind.code: kind for kind in ApiError.__subclasses__()}
T = TypeVar("T")
log = logging.getLogger(__name__)


@attrs.define(eq=False)
class _Reported:
    """What was reported of one broker, and when everything is reported again."""

    sent: dict[tuple[str, int], LogReport] = attrs.field(factory=dict)
    until: float = 0.0


class ControllerClient:
    """Of one gateway, on its loop; any thread may call its methods, and they return at once. Before `open` and after
    `close` every call ends with NotController."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self._loop: asyncio.AbstractEventLoop | None = None
        self._links = Links()
        self._turns: dict[tuple[int, int], asyncio.Lock] = {}  # by API key and broker
        self._reports: dict[int, _Reported] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._numbers = count(1)

    def open(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """All that wait get NotController."""
        self._loop = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._links.close()

    # --- from any thread

    def alter_isr(  # noqa: PLR0917 - as the controller's
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
        *,
        isr_epochs: Mapping[int, int] | None = None,  # noqa: ARG002 - requests that name topics have no place for them
    ) -> Future[AcceptedIsr]:
        """As `Controller.alter_isr`. Errors as there, and 41 where no active controller is found."""
        row = {
            "partition_index": tp.partition,
            "leader_epoch": leader_epoch,
            "new_isr": list(new_isr),
            "partition_epoch": partition_epoch,
        }
        topic = {"topic_name": tp.topic, "partitions": [row]}
        return self._soon(self._alter(leader, {"broker_id": leader, "broker_epoch": broker_epoch, "topics": [topic]}))

    def report_log(self, reports: Iterable[LogReport]) -> None:
        found = list(reports)
        if found:
            self._soon(self._report(found))

    def ask(self, api_key: int, version: int, fields: dict[str, Any]) -> Future[Any]:
        """The answer of the active controller's gateway to any request of a client."""
        return self._soon(self._answer(APIS[api_key].messages, version, fields))

    def _soon(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """What becomes of `work` on the loop; NotController where there is none any more."""
        loop, kept = self._loop, self._kept(work)
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                return asyncio.run_coroutine_threadsafe(kept, loop)
        kept.close()
        work.close()
        future: Future[T] = Future()
        future.set_exception(_no_leader())
        return future

    # --- on the loop

    async def _kept(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that `close` ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        try:
            if self._loop is None:
                task.cancel()
            return await task
        except asyncio.CancelledError:
            raise _no_leader() from None
        finally:
            self._tasks.discard(task)

    def _turn(self, broker_id: int, api: Messages) -> asyncio.Lock:
        return self._turns.setdefault((api.api_key, broker_id), asyncio.Lock())

    async def _answer(self, api: Messages, version: int, fields: dict[str, Any]) -> Any:
        header = Header(api.api_key, version, next(self._numbers) % 2**31, GATEWAY)
        frame = write_request(api, header, fields)[SIZE.size :]
        relayed = Relayed(frame, _PRINCIPAL, client=f"{GATEWAY} {api.name}")  # no kind of request waits for another
        answer = await self._forwarding.forward(self._links, relayed)
        if answer is None:
            raise _no_leader()
        return read_answer(api, header, answer[SIZE.size :])

    async def _alter(self, broker_id: int, fields: dict[str, Any]) -> AcceptedIsr:
        async with self._turn(broker_id, _ALTER):
            answer = await self._answer(_ALTER, _BY_NAME, fields)
        rows = [row for topic in answer.topics for row in topic.partitions]
        if code := answer.error_code or (rows[0].error_code if rows else ErrorCode.UNKNOWN_SERVER_ERROR):
            kind = _ERRORS.get(ErrorCode(code), ApiError) if code in set(ErrorCode) else ApiError
            raise kind(f"the active controller answered with error {code}")
        return AcceptedIsr(tuple(rows[0].isr), rows[0].partition_epoch)

    async def _report(self, reports: list[LogReport]) -> None:
        now, broker_id = asyncio.get_running_loop().time(), reports[0].broker_id
        turn, known = self._turn(broker_id, REPORTED), self._reports.setdefault(broker_id, _Reported())
        if turn.locked():  # the next report has all of this
            return
        if now >= known.until:
            known.sent, known.until = {}, now + FULL_S
        due = [each for each in reports if known.sent.get((each.topic, each.partition)) != each]
        known.sent = {(each.topic, each.partition): each for each in reports}
        try:
            async with turn:
                for at in range(0, len(due), LOGS_MAX):
                    part = as_fields(broker_id, due[at : at + LOGS_MAX])
                    await self._answer(REPORTED, 0, part)
        except (ApiError, Refused) as error:
            log.debug("the state of the logs will be reported later: %r", error)


def _no_leader() -> NotController:
    return NotController("no active controller is reached through this gateway")
