"""Brokers that are broken on purpose, each in one way: what the suite is held against."""

from __future__ import annotations

import copy
from typing import Any, cast

import attrs

from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import (
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Broker
from kedge.controller.rig.host_suite import IsrCall, IsrUpdater, SimulatedBrokers
from kedge.controller.simulated.replica import Replica, Role


class IgnoresControllerEpoch(Broker):
    """Every sender counts as the controller."""

    def _stale(self, request: Any) -> HostResponse | None:
        self.controller_epoch = 0
        return super()._stale(request)


class IgnoresBrokerEpoch(Broker):
    """Whatever registration a request is for, it is for this one."""

    def _stale(self, request: Any) -> HostResponse | None:
        return super()._stale(attrs.evolve(request, broker_epoch=self.epoch))


class Raises(Broker):
    """Every LeaderAndIsr ends in a defect of its own."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        raise KeyError(request.partitions[0].topic)


class ForgetsControllerEpochOfMetadata(Broker):
    """Only LeaderAndIsr fences."""

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        known = self.controller_epoch
        try:
            return super().update_metadata(request)
        finally:
            self.controller_epoch = known


class IgnoresLeaderEpoch(Broker):
    """The last word counts, whatever its leader epoch is."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None:
            replica.leader_epoch = replica.partition_epoch = -1
        return super()._obey(said)


class IgnoresPartitionEpoch(Broker):
    """The last isr counts, whatever its partition epoch is."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None and replica.leader_epoch == said.leader_epoch:
            replica.partition_epoch = -1
        return super()._obey(said)


class DeletesOnFull(Broker):
    """What a `full` request does not name is gone."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        response = super().leader_and_isr(request)
        if request.full and not response.error:
            named = {(said.topic_id, said.partition) for said in request.partitions}
            self.replicas = {place: replica for place, replica in self.replicas.items() if place in named}
        return response


class ServesOnAfterFull(Broker):
    """What a `full` request does not name goes on."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return super().leader_and_isr(attrs.evolve(request, full=False))


class BeginsEmptyLogs(Broker):
    """An empty log passes for the old one, on whatever disk."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        return super()._obey(attrs.evolve(said, is_new=True))


class AcknowledgesAtOnce(Broker):
    """Deletes later, and says at once that it has."""

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        super()._stop(attrs.evolve(said, delete=False))
        return ErrorCode.NONE


class IgnoresTopicId(Broker):
    """A topic is its name."""

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        known = {TopicPartition(r.topic, r.partition): topic_id for (topic_id, _), r in self.replicas.items()}
        said = tuple(
            attrs.evolve(p, topic_id=known.get(TopicPartition(p.topic, p.partition), p.topic_id))
            for p in request.partitions
        )
        return super().stop_replica(attrs.evolve(request, partitions=said))


class ObeysLateDeletions(Broker):
    """Deletes what came back meanwhile."""

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        return super()._stop(attrs.evolve(said, leader_epoch=2**31))


class ForgetsDeletions(Broker):
    """Makes again what it deleted, whatever the leader epoch is."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        self.deleted_at = {}
        return super()._obey(said)


class RefusesToDeleteTwice(Broker):
    """What is not there cannot be deleted."""

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        if (said.topic_id, said.partition) not in self.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return super()._stop(said)


class StartsOverWhenSentAgain(Broker):
    """`is_new` empties a log that is there."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        if said.is_new:
            self.replicas.pop((said.topic_id, said.partition), None)
        return super()._obey(said)


class KeepsLeading(Broker):
    """Once a leader, always a leader."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        code = super()._obey(said)
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None and self.broker_id in self.led:
            replica.role = Role.LEADER
        if replica is not None and replica.role is Role.LEADER:
            self.led.add(self.broker_id)
        return code

    @property
    def led(self) -> set[int]:
        led: set[int] = vars(self).setdefault("_led", set())
        return led


class IgnoresTargets(Broker):
    """Knows no targets, and says that it does."""

    @property
    def knows_targets(self) -> bool:
        return False


class KeepsTargets(Broker):
    """A target stays one until the process ends."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None and said.target_replicas is None:
            said = attrs.evolve(said, target_replicas=replica.target)
        return super()._obey(said)


class HidesLostDisks(Broker):
    """A disk that is gone is replaced by an empty log, without a word."""

    def disk_failed(self, tp: TopicPartition | None) -> None:
        for replica in self.replicas.values():
            if tp is None or (replica.topic, replica.partition) == (tp.topic, tp.partition):
                replica.log = Replica(replica.broker, "", "", 0).log


class AnswersForOthers(Broker):
    """Answers for every partition that it knows."""

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        response = super().stop_replica(request)
        others = {TopicPartition(r.topic, r.partition): ErrorCode.NONE for r in self.replicas.values()}
        return attrs.evolve(response, errors={**others, **response.errors})


class AnswersNothing(Broker):
    """Obeys and returns nothing."""

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        super().update_metadata(request)
        return None  # type: ignore[return-value]


class KeepsOldMetadata(Broker):
    """The first metadata counts."""

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        known = dict(self.metadata)
        response = super().update_metadata(request)
        self.metadata = {**self.metadata, **known}
        return response


# --- hosts whose leaders ask in a wrong way


class _OwnUpdater(SimulatedBrokers):
    """Something stands between its leaders and the updater."""

    def use(self, updater: Any) -> None:
        super().use(cast(IsrUpdater, _Between(updater, self)))

    def changed(self, call: IsrCall) -> IsrCall:
        """What the leader asks instead."""
        return call


@attrs.define
class _Between:
    updater: Any
    host: _OwnUpdater

    def alter_isr(self, *told: Any, **more: Any) -> Any:
        call = self.host.changed(IsrCall(*told))
        return self.updater.alter_isr(call.tp, call.leader, *call.epochs[:2], call.isr, call.broker_epoch, **more)


class AsksUnderAnOldEpoch(_OwnUpdater):
    """The partition epoch that it was created with is good enough."""

    def changed(self, call: IsrCall) -> IsrCall:
        return attrs.evolve(call, partition_epoch=0)


class GoesOnAfterFencing(_OwnUpdater):
    """Every refusal is a reason to ask again."""

    def pass_time(self, ms: int) -> None:
        super().pass_time(ms)
        for duties in self._duties.values():
            for asking in duties._asking.values():  # noqa: SLF001 - broken from inside
                asking.retry_at_ms = min(asking.retry_at_ms, self.clock.now_ms() + 100)


class IsDeadAfterAnError(SimulatedBrokers):
    """A callback that raised leaves a lock behind: no other gets through."""

    def broker_of(self, broker_id: int) -> Broker:
        broken = copy.copy(self._failing)
        if broker_id in broken:
            raise ConnectionError("the lock is taken")
        return super().broker_of(broker_id)
