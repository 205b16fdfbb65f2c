"""The coordinators of groups in a live cluster.

Rules
* A broker has a coordinator for each partition of `__consumer_offsets` that it leads, under the leader epoch under
  which it leads. It is loaded when the high watermark has reached where that epoch began: what a former leader may have
  acknowledged is below that. When leader or epoch change it is unloaded.
* A request goes to the coordinator on the broker whose address the client called; broker None means any.
* Records of all requests that arrived at the same time are appended together (`kedge.controller.server.led_groups`).
* Any thread may call the methods; the work is done by the thread that steps.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Final

import attrs

from ..groups import OFFSETS_TOPIC, Append, Coordinator, Output, partition_of, refused
from ..groups.held import Held
from ..groups.records import RecordCodec
from ..groups.replies import GroupError, Listed, Reply
from ..groups.requests import Commit, DeleteOffsets, FetchOffsets, GroupRequest, GroupSettings
from ..model.values import TopicPartition
from ..simulated.broker import Broker
from .futures import complete, work_for
from .led_groups import Led
from .logs import LiveLogs

_LOAD_S: Final = 0.02  # a step begins no more loads after that
log = logging.getLogger(__name__)


@attrs.define(eq=False)
class LiveGroups:
    """The coordinators on `brokers`, over `logs`. `soon`: has a call made by the thread that steps."""

    brokers: Mapping[int, Broker]
    logs: LiveLogs
    soon: Callable[[Callable[[], None]], None]
    settings: GroupSettings = attrs.field(factory=GroupSettings)
    _codec: RecordCodec | None = None
    _led: dict[tuple[int, int], Led] = attrs.field(factory=dict)
    _held: Held = attrs.field(factory=Held)
    _began: tuple[int, float] = attrs.field(init=False)
    _is_sending: bool = False
    _count: int = 0
    _topic_ids: dict[TopicPartition, str] = attrs.field(factory=dict)
    _gone_ids: set[str] = attrs.field(factory=set)
    _replaced_ms: dict[TopicPartition, int] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._began = (time.time_ns() // 1_000_000, self.logs.clock())

    def begin(self, codec: RecordCodec, settings: GroupSettings | None = None) -> None:
        """Answer requests from now on. `codec`: for the records."""
        self._codec = codec
        self.settings = settings or self.settings

    # --- what is asked, from any thread

    def ask(self, broker_id: int | None, asked: GroupRequest) -> Future[Reply]:
        """The answer of the coordinator, if it is on this broker (None: on any)."""
        future: Future[Reply] = Future()
        self.soon(work_for(future, lambda: self._ask(broker_id, asked, future)))
        return future

    def listed(self, broker_id: int | None) -> Future[tuple[GroupError, list[Listed]]]:
        """All groups whose coordinators are on this broker (None: on any). COORDINATOR_LOAD_IN_PROGRESS while some may
        be missing."""
        future: Future[tuple[GroupError, list[Listed]]] = Future()

        def ask() -> None:
            self._keep_up()
            ours = [led.coordinator for led in self._led.values() if broker_id in {None, led.broker_id}]
            is_whole = all(coordinator.is_loaded for coordinator in ours)
            error = GroupError.NONE if is_whole else GroupError.COORDINATOR_LOAD_IN_PROGRESS
            complete(future, (error, [listed for coordinator in ours for listed in coordinator.listed()]))

        self.soon(work_for(future, ask))
        return future

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
                self._ticked(led, now_ms)

    def _ticked(self, led: Led, now_ms: int) -> None:
        """Handle what is due. A coordinator that fails is loaded again, and affects no other."""
        try:
            self._took(led, led.coordinator.tick(now_ms))
        except Exception:
            log.exception("the coordinator of %s on broker %d failed, and is loaded again", led.tp, led.broker_id)
            self._unload((led.broker_id, led.tp.partition))

    def close(self) -> None:
        """All waiting requests get NOT_COORDINATOR."""
        for place in list(self._led):
            self._unload(place)

    def _ask(self, broker_id: int | None, asked: GroupRequest, future: Future[Reply]) -> None:
        led = self._coordinator(broker_id, asked.group)
        if led is None:
            complete(future, refused(asked, GroupError.NOT_COORDINATOR))
            return
        if isinstance(asked, FetchOffsets):
            self._forget(led, self._topic_ids if asked.wanted is None else asked.wanted)
        if isinstance(asked, Commit):
            self._forget(led, asked.offsets)
            asked = attrs.evolve(asked, unknown=self._unknown(asked.offsets))
        elif isinstance(asked, DeleteOffsets):
            asked = attrs.evolve(asked, unknown=self._unknown(asked.partitions))
        self._took(led, led.coordinator.ask(asked, future, self._now_ms()))

    def _forget(self, led: Led, partitions: Iterable[TopicPartition]) -> None:
        """Drop the offsets of a topic that was deleted and created again under its name. A broker that lags may still
        report the former topic."""
        metadata, replaced = self.brokers[led.broker_id].metadata, []
        for tp in list(partitions):
            said = metadata.get(tp)
            if said is None or said.topic_id in self._gone_ids:
                continue
            before = self._topic_ids.setdefault(tp, said.topic_id)
            if before != said.topic_id:
                self._topic_ids[tp] = said.topic_id
                self._gone_ids.add(before)
                self._replaced_ms[tp] = self._now_ms()
                replaced.append(tp)
        for each in list(self._led.values()) if replaced else ():
            before_ms = dict.fromkeys(replaced, self._now_ms() + 1)
            self._took(each, each.coordinator.forget(before_ms, self._now_ms()))

    def _unknown(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        return frozenset(tp for tp in partitions if not any(tp in metadata for metadata in up))

    def _coordinator(self, broker_id: int | None, group: str) -> Led | None:
        self._count = self._count or self._counted()
        if not self._count:
            return None
        partition = partition_of(group, self._count)
        places = [(each, partition) for each in ([broker_id] if broker_id is not None else self._members(partition))]
        for place in places:
            self._keep(place)
        found = [self._led[place] for place in places if place in self._led]
        return max(found, key=lambda led: led.leader_epoch, default=None)

    # --- who leads what

    def _counted(self) -> int:
        """The number of partitions of the topic, by the metadata of any broker; 0 if it does not exist."""
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        count = 0
        while any(TopicPartition(OFFSETS_TOPIC, count) in metadata for metadata in up):
            count += 1
        return count

    def _members(self, partition: int) -> tuple[int, ...]:
        """The replicas of the partition, by the metadata of the first broker that knows it."""
        tp = TopicPartition(OFFSETS_TOPIC, partition)
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
        replica = None if broker is None else self.logs.leaders.led_by(broker, TopicPartition(OFFSETS_TOPIC, place[1]))
        if led is not None and (replica is not led.replica or replica.leader_epoch != led.leader_epoch):
            self._unload(place)
            led = None
        if replica is None or self._codec is None:
            return
        if led is None:
            coordinator = Coordinator(self.settings, self._codec.subscribed, self._held)
            named = (place[0], replica, replica.leader_epoch, coordinator, self.logs, self._codec)
            led = self._led[place] = Led(*named, self._ended)
        if may_load and led.can_load:
            led.coordinator.load(led.read())
            self._took(led, led.coordinator.loaded(self._now_ms()))
            self._took(led, led.coordinator.forget(self._replaced_ms, self._now_ms()))

    def _unload(self, place: tuple[int, int]) -> None:
        led = self._led.pop(place)
        self._took(led, led.coordinator.unload(self._now_ms()))

    # --- answers and appends

    def _took(self, led: Led, output: Output) -> None:
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

    def _ended(self, led: Led, append: Append, error: GroupError) -> None:
        self._took(led, led.coordinator.appended(append.number, error, self._now_ms()))

    def _now_ms(self) -> int:
        """The wall clock at the start, plus the clock of the logs since: it never goes back."""
        began_ms, began_s = self._began
        return began_ms + int((self.logs.clock() - began_s) * 1000)
