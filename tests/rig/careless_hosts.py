"""Hosts that are broken on purpose in ways that no single request shows: what seeds are held against."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import LeaderAndIsrPartition, StopReplicaPartition
from kedge.controller.model.reductions import OFFLINE, ONLINE
from kedge.controller.rig import Broker
from kedge.controller.rig.host_suite import SimulatedBrokers
from kedge.controller.simulated.replica import FollowerSeen, Replica, Role


class Acknowledges(SimulatedBrokers):
    """Its leaders acknowledge a record before the followers have it."""

    def append(self, broker_id: int, tp, records: int) -> int:  # type: ignore[no-untyped-def]
        taken = super().append(broker_id, tp, records)
        replica = self._brokers[broker_id].replica(tp)
        if taken and replica is not None:
            replica.log.high_watermark = replica.log.end_offset
        return taken


class WritesLater(SimulatedBrokers):
    """Its last records are not on the disk yet when they are acknowledged: the end of the process takes them along."""

    def restart(self, broker_id: int) -> None:
        super().restart(broker_id)
        for replica in self._brokers[broker_id].replicas.values():
            replica.log.truncate(replica.log.end_offset - 5)


class LeadsAgain(Broker):
    """A repeated request makes it leader a second time, with nothing known of its followers or of its open call."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None and replica.leader_epoch == said.leader_epoch:
            replica.leader_epoch -= 1
        return super()._obey(said)


class RemembersItsRole(Broker):
    """A process begins with the role that the last one had."""

    def stopped(self) -> None:
        known = {
            place: (replica.role, replica.leader, replica.leader_epoch) for place, replica in self.replicas.items()
        }
        super().stopped()
        for place, role in known.items():
            replica = self.replicas[place]
            replica.role, replica.leader, replica.leader_epoch = role


class DeletesInMemory(Broker):
    """A deletion is acknowledged, and the next process finds the log again."""

    def _stop(self, said: StopReplicaPartition) -> ErrorCode:
        place = (said.topic_id, said.partition)
        replica, code = self.replicas.get(place), super()._stop(said)
        if replica is not None and place not in self.replicas:
            self.kept[place] = replica
        return code

    def stopped(self) -> None:
        self.replicas = {**self.kept, **self.replicas}
        super().stopped()

    @property
    def kept(self) -> dict[tuple[str, int], Replica]:
        kept: dict[tuple[str, int], Replica] = vars(self).setdefault("_kept", {})
        return kept


class GivesUp(SimulatedBrokers):
    """Its leaders never repeat a call that was not answered well."""

    def pass_time(self, ms: int) -> None:
        super().pass_time(ms)
        for duties in self._duties.values():
            for asking in duties._asking.values():  # noqa: SLF001 - broken from inside
                if asking.future is None:
                    asking.retry_at_ms = 2**63


class _Naive(Replica):
    """Takes every member for one that caught up."""

    __slots__ = ()

    def _caught_up(self, follower: int) -> bool:  # noqa: ARG002 - as Replica
        return True


class _Certain(Replica):
    """Takes the isr that it was sent for the one that is committed."""

    __slots__ = ()

    @property
    def maximal_isr(self) -> Sequence[int]:  # type: ignore[override]
        return self.isr


class _Stubborn(Replica):
    """Keeps what it has, also where the leader has something else."""

    __slots__ = ()

    def truncate_to(self, leader: object) -> int:  # noqa: ARG002 - as Replica
        return 0


class _WithReplicas(Broker):
    """Its replicas are of another class."""

    kind: type[Replica] = Replica

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        code = super()._obey(said)
        for replica in self.replicas.values():
            replica.__class__ = self.kind
        return code


class AsksTooEarly(_WithReplicas):
    """Asks for members that have not caught up."""

    kind = _Naive


class ForgetsItsCall(_WithReplicas):
    """Does not wait for a replica that may be in the isr already."""

    kind = _Certain


class NeverTruncates(_WithReplicas):
    """A follower keeps records that the leader of the new epoch does not have."""

    kind = _Stubborn


class WritesReadOnly(Broker):
    """A status of -1 means nothing to it."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        code = super()._obey(said)
        for replica in self.replicas.values():
            replica.status = ONLINE
        return code


class ServesOffline(Broker):
    """A status of 1 means nothing to it."""

    def _obey(self, said: LeaderAndIsrPartition) -> ErrorCode:
        code = super()._obey(said)
        replica = self.replicas.get((said.topic_id, said.partition))
        if replica is not None and said.status_code == OFFLINE and replica.leader == self.broker_id:
            replica.role = Role.LEADER
            replica.followers = {b: FollowerSeen(0) for b in replica.members if b != self.broker_id}
        return code
