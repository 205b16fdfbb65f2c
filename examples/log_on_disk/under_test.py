"""The brokers of the example as a host under test, for the suite for hosts and for seeded failures:

python -m kedge.rig explore --host examples.log_on_disk.under_test:DiskBrokers
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from examples.log_on_disk.broker import Broker, Brokers
from kedge import (
    Host,
    HostResponse,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaRequest,
    TopicPartition,
    UpdateMetadataRequest,
)
from kedge.rig import Ability, Contents, Held, HostUnderTest, IsrUpdater, Role, VirtualClock


class DiskBrokers(HostUnderTest):
    """The brokers of the example. Time passes for them in `pass_time` only, so a test need not sleep."""

    name = "log_on_disk"
    abilities = frozenset(Ability)
    quiet_ms = 20  # ten times as long, which the isr cases wait, is longer than RETRY_S

    def __init__(self) -> None:
        self.clock: VirtualClock = VirtualClock()
        self._failing: set[int] = set()
        self._written = 0

    def open(self, broker_ids: Sequence[int]) -> Host:
        self._folder = tempfile.TemporaryDirectory()
        self._brokers = Brokers(Path(self._folder.name), self.clock.monotonic_s)
        self._broker_ids = broker_ids
        return self

    def close(self) -> None:
        self._folder.cleanup()

    def registered(self, broker_id: int, epoch: int) -> None:
        self.broker(broker_id).epoch = epoch

    def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)
        for broker in self._brokers.running.values():
            broker.step()

    def held(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Held | None:
        found = self.broker(broker_id).replicas.get((topic_id, tp.partition))
        if found is None:
            return None
        role = Role.LEADER if found.leads else Role.FOLLOWER if found.serves else Role.IDLE
        return Held(role, found.leader, found.leader_epoch, found.isr, found.log.end_offset)

    def known(self, broker_id: int, tp: TopicPartition) -> PartitionMetadata | None:
        told = self.broker(broker_id).metadata.values()
        return next((each for each in told if (each.topic, each.partition) == (tp.topic, tp.partition)), None)

    def append(self, broker_id: int, tp: TopicPartition, records: int) -> int:
        first, self._written = self._written, self._written + records
        end = self.broker(broker_id).append(tp, [b"record %d" % number for number in range(first, self._written)])
        return 0 if end is None else records

    def read(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Contents:
        """As it is on the disk; two records are equal if their leader epochs are, too."""
        replica = self.broker(broker_id).replicas[topic_id, tp.partition]
        return Contents(replica.log.read(0, replica.log.end_offset), replica.high_watermark)

    def use(self, updater: IsrUpdater) -> None:
        """Called right after `open`: the brokers can start now."""
        self._brokers.alter_isr = updater.alter_isr
        for broker_id in self._broker_ids:
            self._brokers.start(broker_id)

    def restart(self, broker_id: int) -> None:
        self._brokers.kill(broker_id)
        self._brokers.start(broker_id)

    def lose_disk(self, broker_id: int, tp: TopicPartition) -> None:
        """A file in the place of the folder: whatever touches the log raises OSError."""
        (folder,) = self.broker(broker_id).folder.glob(f"{tp}.*")
        shutil.rmtree(folder)
        folder.touch()

    def replace_disk(self, broker_id: int) -> None:
        for path in self.broker(broker_id).folder.iterdir():
            if path.is_file():
                path.unlink()
        self.restart(broker_id)

    def fail_next(self, broker_id: int) -> None:
        self._failing.add(broker_id)

    def broker(self, broker_id: int) -> Broker:
        """The broker that runs under this id."""
        return self._brokers.running[broker_id]

    def _check(self, broker_id: int) -> None:
        if broker_id in self._failing:
            self._failing.remove(broker_id)
            raise ConnectionError(f"broker {broker_id} fails")

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        self._check(request.broker_id)
        return self._brokers.leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        self._check(request.broker_id)
        return self._brokers.update_metadata(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        self._check(request.broker_id)
        return self._brokers.stop_replica(request)
