"""The coordinators of an internal topic in a live cluster.

Rules
* A broker has a coordinator for each partition of the topic that it leads, under the leader epoch under which it leads.
  It is loaded when the high watermark has reached where that epoch began: what a former leader may have acknowledged is
  below that. When leader or epoch change it is unloaded.
* A request goes to the coordinator on the broker whose address the client called; broker None means any.
* Records of all requests that arrived at the same time are appended together (`kedge.controller.server.led`).
* Any thread may call the methods; the work is done by the thread that steps.
"""

from __future__ import annotations

import abc
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, ClassVar, Final, Generic, TypeVar

import attrs

from ..coordinators import Append, CoordinatorError, Output, partition_of
from ..coordinators.held import Held
from ..coordinators.records import RecordCodec
from ..model.logs import EpochEnd
from ..model.values import TopicPartition
from ..simulated.broker import Broker
from ..simulated.replica import Replica
from .futures import complete, fail, result_of, work_for
from .led import Led, M
from .logs import LiveLogs

C = TypeVar("C", bound=RecordCodec[Any])
_LOAD_S: Final = 0.02  # a step begins no more loads after that
log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Coordinators(abc.ABC, Generic[M, C]):
    """The coordinators on `brokers`, over `logs`. `soon`: has a call made by the thread that steps."""

    topic: ClassVar[str]
    brokers: Mapping[int, Broker]
    logs: LiveLogs
    soon: Callable[[Callable[[], None]], None]
    _codec: C | None = attrs.field(default=None, init=False)
    _led: dict[tuple[int, int], Led[M]] = attrs.field(factory=dict, init=False)
    _held: Held = attrs.field(factory=Held, init=False)
    _began: tuple[int, float] = attrs.field(init=False)
    _is_sending: bool = attrs.field(default=False, init=False)
    _count: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._began = (time.time_ns() // 1_000_000, self.logs.clock())

    # --- what is asked, from any thread

    def ask(self, broker_id: int | None, asked: Any) -> Future[Any]:
        """The answer of the coordinator, if it is on this broker (None: on any)."""
        future: Future[Any] = Future()
        self.soon(work_for(future, lambda: self._ask(broker_id, asked, future)))
        return future

    def listed(self, broker_id: int | None) -> Future[tuple[CoordinatorError, list[Any]]]:
        """All that the coordinators on this broker have (None: on any). COORDINATOR_LOAD_IN_PROGRESS while some may be
        missing."""

        def ask() -> tuple[CoordinatorError, list[Any]]:
            self._keep_up()
            ours = [led.coordinator for led in self._led.values() if broker_id in {None, led.broker_id}]
            is_whole = all(coordinator.is_loaded for coordinator in ours)
            error = CoordinatorError.NONE if is_whole else CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS
            return error, [listed for coordinator in ours for listed in coordinator.listed()]

        return result_of(ask, self.soon)

    def place_of(self, name: str) -> Future[TopicPartition | None]:
        """The partition of the topic that holds this name; None where no broker that is up knows the topic."""
        return result_of(lambda: self._place(name), self.soon)

    # --- what is done about it, by the thread that steps

    def step(self) -> None:
        """Create and end coordinators as leaders change, and handle what is due."""
        if self._codec is None:
            return
        self._keep_up()
        now_ms = self._now_ms()
        for led in list(self._led.values()):
            due_ms = led.coordinator.next_ms
            if due_ms is not None and due_ms <= now_ms:
                self._turn(led, led.coordinator.tick, now_ms)

    def close(self) -> None:
        """All waiting requests get NOT_COORDINATOR."""
        for place in list(self._led):
            self._unload(place)

    def _ask(self, broker_id: int | None, asked: Any, future: Future[Any]) -> None:
        led = self._coordinator(broker_id, self._name_in(asked))
        if led is None:
            complete(future, self._refused(asked))
        else:
            self._turn(led, led.coordinator.ask, self._prepared(led, asked), future, self._now_ms(), future=future)

    # --- what differs

    @abc.abstractmethod
    def _made(self, codec: C) -> M:
        """A new coordinator."""

    @abc.abstractmethod
    def _name_in(self, asked: Any) -> str:
        """What the request is about, which decides the partition."""

    @abc.abstractmethod
    def _refused(self, asked: Any) -> Any:
        """The answer with NOT_COORDINATOR."""

    def _prepared(self, led: Led[M], asked: Any) -> Any:  # noqa: ARG002 - for those that override it
        """The request with what the coordinator cannot know."""
        return asked

    def _loaded(self, led: Led[M]) -> None:
        """The coordinator was loaded just now."""

    # --- who leads what

    def _coordinator(self, broker_id: int | None, name: str) -> Led[M] | None:
        tp = self._place(name)
        if tp is None:
            return None
        partition = tp.partition
        places = [(each, partition) for each in ([broker_id] if broker_id is not None else self._members(partition))]
        for place in places:
            self._keep(place)
        found = [self._led[place] for place in places if place in self._led]
        return max(found, key=lambda led: led.leader_epoch, default=None)

    def _place(self, name: str) -> TopicPartition | None:
        """The partition that holds this name, by the number of partitions at the last step."""
        self._count = self._count or self._counted()
        return TopicPartition(self.topic, partition_of(name, self._count)) if self._count else None

    def _unknown(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Those that no broker knows."""
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        return frozenset(tp for tp in partitions if not any(tp in metadata for metadata in up))

    def _counted(self) -> int:
        """The number of partitions of the topic, by the metadata of any broker; 0 if it does not exist."""
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        count = 0
        while any(TopicPartition(self.topic, count) in metadata for metadata in up):
            count += 1
        return count

    def _members(self, partition: int) -> tuple[int, ...]:
        """The replicas of the partition, by the metadata of the first broker that knows it."""
        tp = TopicPartition(self.topic, partition)
        told = (broker.metadata.get(tp) for broker in self.brokers.values() if broker.is_up)
        return next((said.replicas for said in told if said is not None), ())

    def _keep_up(self) -> None:
        count = self._count = self._counted()
        end_s = time.monotonic() + _LOAD_S
        places = [(member, partition) for partition in range(count) for member in self._members(partition)]
        for place in dict.fromkeys([*self._led, *places]):
            self._keep(place, may_load=time.monotonic() < end_s)
        for place in [place for place in self._led if place[1] >= count]:
            self._unload(place)

    def _keep(self, place: tuple[int, int], *, may_load: bool = True) -> None:
        """Bring the coordinator at this place up to date with the leader and its epoch."""
        led = self._led.get(place)
        broker = self.brokers.get(place[0])
        replica = None if broker is None else self.logs.leaders.led_by(broker, TopicPartition(self.topic, place[1]))
        if led is not None and (replica is not led.replica or replica.leader_epoch != led.leader_epoch):
            self._unload(place)
            led = None
        if replica is None or self._codec is None:
            return
        if led is None:
            led = self._new(place, replica, self._codec)
        if led.ends is not None and led.ends.done():
            self._take_end(led, led.ends)
        if may_load and led.can_load:
            led.coordinator.load(led.read())
            self._turn(led, led.coordinator.loaded, self._now_ms())
            self._loaded(led)

    def _new(self, place: tuple[int, int], replica: Replica, codec: C) -> Led[M]:
        named = (place[0], replica, replica.leader_epoch, self._made(codec), self.logs, codec)
        led = self._led[place] = Led(*named, self._ended)
        return led

    def _unload(self, place: tuple[int, int]) -> None:
        led = self._led.pop(place)
        self._took(led, led.coordinator.unload(self._now_ms()))

    def _is_current(self, led: Led[M]) -> bool:
        return self._led.get(led.place) is led

    def _failed(self, led: Led[M]) -> None:
        """Load it again, when all that it has under way is in the log, and below the high watermark."""
        if not self._is_current(led) or self._codec is None:
            return
        self._unload(led.place)
        again = self._new(led.place, led.replica, self._codec)
        again.ends = self._end_of_log(again)

    def _end_of_log(self, led: Led[M]) -> Future[EpochEnd]:
        """Where it ends once all is in it that was appended before."""
        return self.logs.end_of_epoch(led.broker_id, led.tp, led.leader_epoch, led.leader_epoch)

    def _take_end(self, led: Led[M], ends: Future[EpochEnd]) -> None:
        if ends.exception() or ends.result().error:
            led.ends = self._end_of_log(led)  # what leads may not know its epoch yet
        else:
            led.start, led.ends = ends.result().end_offset, None

    # --- answers and appends

    def _turn(self, led: Led[M], work: Callable[..., Output], *args: Any, future: Any = None, **named: Any) -> None:
        """What the coordinator makes of it. One that fails is loaded again, and affects no other. `future`: of who
        asked, and gets the error."""
        try:
            output = work(*args, **named)
        except Exception as error:  # what the coordinator holds may be half of a change
            log.exception("the coordinator of %s on broker %d failed, and is loaded again", led.tp, led.broker_id)
            self._failed(led)
            if future is not None:
                fail(future, error)
        else:
            self._took(led, output)

    def _took(self, led: Led[M], output: Output) -> None:
        for future, reply in output.replies:
            complete(future, reply)
        led.due += output.appends
        if led.due and not self._is_sending:
            self._is_sending = True
            self.soon(self._send)  # after all requests that are there already

    def _send(self) -> None:
        self._is_sending = False
        for led in list(self._led.values()):
            led.send(self._now_ms())

    def _ended(self, led: Led[M], append: Append, error: CoordinatorError) -> None:
        self._turn(led, led.coordinator.appended, append.number, error, self._now_ms())

    def _now_ms(self) -> int:
        """The wall clock at the start, plus the clock of the logs since: it never goes back."""
        began_ms, began_s = self._began
        return began_ms + int((self.logs.clock() - began_s) * 1000)
