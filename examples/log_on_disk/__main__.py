"""A topic on disk: written to, moved, and restarted after crashes.

python -m examples.log_on_disk [FOLDER]      # in the checkout; without FOLDER, a temporary one
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from examples.log_on_disk.broker import Brokers
from examples.log_on_disk.log import Log
from examples.log_on_disk.replica import Replica
from kedge import BrokerRegistration, Controller, MemoryStore, NewTopic, TopicPartition

TP = TopicPartition("orders", 0)
TIMEOUT_S = 20.0


class Cluster:
    """One controller and its brokers, which all run in the calling thread."""

    def __init__(self, folder: Path) -> None:
        self.brokers = Brokers(folder)
        self.controller = Controller(MemoryStore(), node_id=101, host=self.brokers)
        self.brokers.alter_isr = self.controller.alter_isr
        self.epochs: dict[int, int] = {}
        self.acknowledged: list[bytes] = []

    def until(self, holds: Callable[[], object]) -> None:
        """Let the controller and the brokers work until `holds()`."""
        end_s = time.monotonic() + TIMEOUT_S
        while not holds():
            if time.monotonic() > end_s:
                raise TimeoutError(f"not reached; the controller reports {self.controller.describe()}")
            self.controller.poll_once(0.001)
            for broker in list(self.brokers.running.values()):
                broker.step()

    def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            self.brokers.start(broker_id)
            self.epochs[broker_id] = self.controller.register_broker(BrokerRegistration(broker_id))

    def kill(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            self.brokers.kill(broker_id)
            self.controller.unregister_broker(broker_id, self.epochs[broker_id])  # as when its session runs out

    def leader(self) -> Replica | None:
        found = (broker.leading(TP) for broker in self.brokers.running.values())
        return next((replica for replica in found if replica is not None), None)

    def in_sync(self) -> list[int]:
        leader = self.leader()
        return [] if leader is None else sorted(leader.isr)

    def append(self, *payloads: bytes) -> tuple[Replica, int]:
        """The leader has written the records; where they end."""
        self.until(self.leader)
        leader = self.leader()
        assert leader is not None
        end = self.brokers.running[leader.broker].append(TP, payloads)
        assert end is not None
        return leader, end

    def write(self, *payloads: bytes) -> None:
        """The records are acknowledged: all in-sync replicas have them."""
        leader, end = self.append(*payloads)
        self.until(lambda: leader.high_watermark >= end)
        self.acknowledged += payloads
        print(f"wrote {len(payloads)} records to broker {leader.broker}, in sync: {self.in_sync()}")

    def folders(self) -> list[str]:
        """The brokers that have a log of the partition on disk."""
        return sorted(path.parent.name for path in self.brokers.folder.glob(f"*/{TP}.*"))


def main(folder: Path) -> None:
    cluster = Cluster(folder)
    cluster.until(lambda: cluster.controller.is_active)
    cluster.start(1, 2, 3, 4)
    cluster.until(lambda: len(cluster.controller.describe().live_brokers) == 4)

    created = cluster.controller.admin.create_topics({TP.topic: NewTopic(replica_assignments=[[1, 2, 3]])})
    cluster.until(lambda: created[TP.topic].done() and cluster.in_sync() == [1, 2, 3])
    cluster.write(b"one", b"two", b"three")
    print(f"on disk: {cluster.folders()}")

    move = cluster.controller.admin.alter_partition_reassignments({TP: [4, 2, 3]})
    cluster.until(lambda: move[TP].done() and cluster.in_sync() == [2, 3, 4] and len(cluster.folders()) == 3)
    print(f"moved from broker 1 to broker 4; on disk: {cluster.folders()}")

    dead = cluster.append(b"never acknowledged")[0].broker
    cluster.kill(dead)
    print(f"killed broker {dead}, which had a record that no follower had copied")
    cluster.until(cluster.leader)
    cluster.write(b"four", b"five")
    cluster.start(dead)
    cluster.until(lambda: cluster.in_sync() == [2, 3, 4])
    print(f"restarted broker {dead} from disk: its log was truncated, and caught up")

    cluster.kill(*list(cluster.brokers.running))
    cluster.until(lambda: not cluster.controller.describe().live_brokers)
    cluster.start(1, 2, 3, 4)
    cluster.until(lambda: cluster.in_sync() == [2, 3, 4])
    cluster.write(b"six")
    print("killed all brokers, and restarted them from disk")
    cluster.controller.close()

    for path in sorted(folder.glob(f"*/{TP}.*")):
        held = [payload for _, payload in Log(path).read(0, 100)]
        assert held == cluster.acknowledged, (path, held)
        print(f"{path.parent.name} holds {[payload.decode() for payload in held]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
