"""One broker of a host under test, as the network reaches it: every request goes to the host, and is remembered.

What a process was sent is what it may do: the rules compare it with what the host holds. A request counts from before
its delivery, since a host may obey it and raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from ...model.errors import ErrorCode
from ...model.host import (
    Host,
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import TopicPartition
from ...simulated.broker import Life
from ...simulated.network import CutOffError, Request
from ...simulated.replica import Role
from . import rules
from .answers import legal
from .rules import Judge
from .under_test import Held, HostUnderTest

Place: TypeAlias = tuple[str, int]
"""Topic id and partition."""


@attrs.define(eq=False)
class Told:
    """What LeaderAndIsr requests said to one process about one place, by leader epoch; of `epochs` it knows the
    partition epochs. `unnamed_ms`: when a full request left it out."""

    by_epoch: dict[int, LeaderAndIsrPartition] = attrs.field(factory=dict)
    members: dict[int, set[int]] = attrs.field(factory=dict)
    epochs: set[int] = attrs.field(factory=set)
    unnamed_ms: int | None = None
    is_deposed: bool = False  # it asked for an isr, and got one without itself

    @property
    def leader_epoch(self) -> int:
        """The highest leader epoch; -1 for none."""
        return max(self.by_epoch, default=-1)

    def take(self, said: LeaderAndIsrPartition) -> None:
        """A request names the place."""
        self.by_epoch[said.leader_epoch] = said
        self.members.setdefault(said.leader_epoch, set()).update(said.replicas, said.target_replicas or ())
        self.epochs.add(said.partition_epoch)
        self.unnamed_ms = None

    def left_out(self, now_ms: int) -> None:
        """A full request does not name the place."""
        self.unnamed_ms = now_ms if self.unnamed_ms is None else self.unnamed_ms


@attrs.define(eq=False)
class HostedBroker:
    """`process`: the number of its present process. `epochs`: of its registrations. `deleted_at`: the leader epoch of
    each acknowledged deletion. `has_log`: places that had a log when it was last looked at; `begun`: those that it was
    ordered to begin; `may_end`: those whose log a deletion may have ended since; `lost`: those whose disk failed once.
    `raised`: exceptions of the host."""

    broker_id: int
    host: HostUnderTest
    callbacks: Host
    judge: Judge
    now_ms: Callable[[], int]
    life: Life = Life.UP
    epoch: int = 0
    process: int = 1
    epochs: set[int] = attrs.field(factory=set)
    told: dict[Place, Told] = attrs.field(factory=dict)
    deleted_at: dict[Place, int] = attrs.field(factory=dict)
    names: dict[Place, TopicPartition] = attrs.field(factory=dict)
    has_log: set[Place] = attrs.field(factory=set)
    begun: set[Place] = attrs.field(factory=set)
    may_end: set[Place] = attrs.field(factory=set)
    lost: set[Place] = attrs.field(factory=set)
    disk_is_gone: bool = False
    is_to_fail: bool = False  # the next callback raises, by request
    raised: list[str] = attrs.field(factory=list)
    _obeyed_epoch: int = 0  # the highest controller epoch of a request that was obeyed
    _heard_epoch: int = 0  # the same, also of requests that the host raised for

    @property
    def is_up(self) -> bool:
        return self.life is Life.UP

    def registered(self, epoch: int) -> None:
        self.epoch = epoch
        self.epochs.add(epoch)
        self.host.registered(self.broker_id, epoch)

    def ended(self) -> None:
        """Its process is another one, which was sent nothing."""
        self.process += 1
        self.epochs = set()
        self.told, self.deleted_at = {}, {}
        self._obeyed_epoch = self._heard_epoch = 0

    def held(self, place: Place) -> Held | None:
        return self.host.held(self.broker_id, self.names[place], place[0])

    # --- callbacks

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        named = set()
        for said in request.partitions if not self._is_stale(request) else ():
            place = (said.topic_id, said.partition)
            named.add(place)
            self.names[place] = TopicPartition(said.topic, said.partition)
            if said.leader_epoch >= self.deleted_at.get(place, -1):
                self.told.setdefault(place, Told()).take(said)
        new = {(said.topic_id, said.partition) for said in request.partitions if said.is_new} & named
        if not self.is_to_fail:
            self.begun |= new
        empty = [said for said in request.partitions if not said.is_new and self._is_empty(said)]
        response = self._passed_on(request, lambda: self.callbacks.leader_and_isr(request))
        self.begun |= new
        for said in empty if not response.error else ():
            code = response.errors.get(TopicPartition(said.topic, said.partition), ErrorCode.NONE)
            who = f"broker {self.broker_id} answers {code} to {said}, of which it has no log"
            self.judge.require(code == ErrorCode.KAFKA_STORAGE_ERROR, rules.EMPTY, who)
        if request.full and not response.error:
            for place in self.told.keys() - named:
                self.told[place].left_out(self.now_ms())
        return response

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        for said in request.partitions if not self._is_stale(request) else ():
            told = self.told.get((said.topic_id, said.partition))
            if told is not None:
                told.epochs.add(said.partition_epoch)
        return self._passed_on(request, lambda: self.callbacks.update_metadata(request))

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """To the host; an acknowledged deletion must be done."""
        orders = [said for said in request.partitions if said.delete and not self._is_stale(request)]
        before = {}
        for said in orders:
            place = (said.topic_id, said.partition)
            self.names.setdefault(place, TopicPartition(said.topic, said.partition))
            before[place] = self.held(place)
            if said.leader_epoch >= self.told.get(place, Told()).leader_epoch:
                self.may_end.add(place)
        response = self._passed_on(request, lambda: self.callbacks.stop_replica(request))
        for said in orders if not response.error else ():
            tp = TopicPartition(said.topic, said.partition)
            if not response.errors.get(tp, ErrorCode.NONE):
                self._deleted(said, before[said.topic_id, said.partition])
        return response

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """A host under test gets no notices."""
        return {}

    def _deleted(self, said: StopReplicaPartition, before: Held | None) -> None:
        place, after = (said.topic_id, said.partition), self.held((said.topic_id, said.partition))
        who = f"broker {self.broker_id}, {self.names[place]}"
        self.judge.require(after is None, rules.DELETIONS, f"{who}: acknowledged, and the log is there: {after}")
        is_late = before is not None and before.leader_epoch > said.leader_epoch
        late = f"{who}: a deletion under leader epoch {said.leader_epoch} deleted {before}"
        self.judge.require(not is_late, rules.DELETIONS, late)
        self.deleted_at[place] = max(said.leader_epoch, self.deleted_at.get(place, -1))
        self.told.pop(place, None)
        self.has_log.discard(place)

    def _is_empty(self, said: LeaderAndIsrPartition) -> bool:
        """Whether the request means a replica of which there is no log, though it should be there."""
        place = (said.topic_id, said.partition)
        was_deleted = said.leader_epoch < self.deleted_at.get(place, -1)
        return not was_deleted and place in self.told and self.held(place) is None

    # --- answers

    def _is_stale(self, request: Request) -> bool:
        return request.broker_epoch < self.epoch or request.controller_epoch < self._obeyed_epoch

    def _passed_on(self, request: Request, call: Callable[[], HostResponse]) -> HostResponse:
        is_stale, is_new = self._is_stale(request), request.controller_epoch >= self._heard_epoch
        if not is_stale:
            self._heard_epoch = max(self._heard_epoch, request.controller_epoch)
        try:
            response = call()
        except Exception as error:
            self.is_to_fail = False
            said = f"broker {self.broker_id}: {type(request).__name__}: {type(error).__name__}: {error}"
            self.raised.append(said)
            raise CutOffError(said) from error
        try:
            legal(request, response)
        except AssertionError as wrong:
            self.judge.require(holds=False, rule=rules.ANSWERS, what=str(wrong))
            raise CutOffError(str(wrong)) from wrong
        self._judge_error(request, response, is_stale=is_stale, is_new=is_new)
        if not response.error:
            self._obeyed_epoch = max(self._obeyed_epoch, request.controller_epoch)
        return response

    def _judge_error(self, request: Request, response: HostResponse, *, is_stale: bool, is_new: bool) -> None:
        who = f"broker {self.broker_id} answers {response.error!r} to {type(request).__name__}"
        said = (
            f"{who} of controller epoch {request.controller_epoch} for broker epoch {request.broker_epoch}; it obeyed "
            f"{self._obeyed_epoch}, and is registered under {self.epoch}"
        )
        wanted = set()
        if request.broker_epoch < self.epoch:
            wanted.add(ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self._obeyed_epoch:
            wanted.add(ErrorCode.STALE_CONTROLLER_EPOCH)
        if is_stale:
            self.judge.require(response.error in wanted, rules.FENCES, said)
        elif is_new:
            self.judge.require(not response.error, rules.FENCES, said)

    # --- at every step

    def look(self, unnamed_ms_max: int) -> None:
        """Compare what the host holds with what it was sent."""
        for place in list(self.names):
            held = self.held(place)
            self._judge_log(place, held)
            if held is not None and held.role is not Role.IDLE:
                self._judge_role(place, held, unnamed_ms_max)

    def _judge_log(self, place: Place, held: Held | None) -> None:
        who = f"broker {self.broker_id}, {self.names[place]}"
        if held is None:
            may = place in self.may_end or place in self.lost
            self.judge.require(place not in self.has_log or may, rules.LOGS, f"{who}: the log is gone")
            self.has_log.discard(place)
            self.may_end.discard(place)
            return
        made = place in self.has_log or place in self.told
        self.judge.require(made, rules.LOGS, f"{who}: there is a log that no request began: {held}")
        self.has_log.add(place)

    def _judge_role(self, place: Place, held: Held, unnamed_ms_max: int) -> None:
        who = f"broker {self.broker_id}, {self.names[place]}: {held}"
        told = self.told.get(place, Told())
        said = told.by_epoch.get(held.leader_epoch)
        self.judge.require(
            said is not None and said.leader == held.leader,
            rules.ROLES,
            f"{who}; this process was told {None if said is None else said.leader} of the leader epochs "
            f"{sorted(told.by_epoch)}",
        )
        leads = held.leader == self.broker_id
        self.judge.require((held.role is Role.LEADER) == leads, rules.ROLES, who)
        is_over = told.unnamed_ms is not None and self.now_ms() - told.unnamed_ms > unnamed_ms_max
        self.judge.require(not is_over, rules.FULL, f"{who}; a full request left it out {unnamed_ms_max} ms ago")
