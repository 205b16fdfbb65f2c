"""Three processes on one store; the one whose controller is active is killed while a partition moves.

    python -m examples.processes etcd://127.0.0.1:2379/kedge/processes

The prefix in the store must be empty.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from examples.processes.broker import Address
from examples.processes.node import call
from kedge import NewTopic, NotController, TopicPartition

ORDERS = TopicPartition("orders", 0)
WAIT_S = 60.0
T = TypeVar("T")


class Cluster:
    """Processes by their ids, and their addresses."""

    def __init__(self) -> None:
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.addresses: dict[int, Address] = {}

    def start(self, url: str, broker_id: int) -> None:
        command = [sys.executable, "-m", "examples.processes.node", url, str(broker_id)]
        process = self.processes[broker_id] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert process.stdout is not None
        host, port = process.stdout.readline().split()
        self.addresses[broker_id] = (host, int(port))

    def kill(self, broker_id: int) -> None:
        """As kill -9 does: nothing is handed over."""
        del self.addresses[broker_id]
        self.processes[broker_id].kill()

    def active(self) -> int | None:
        """The id of the active controller, once it sees the brokers of all processes that run."""
        for broker_id, address in self.addresses.items():
            seen = call(address, "describe")
            if seen.is_active and set(seen.live_brokers) == self.addresses.keys():
                return broker_id
        return None


def wait_for(condition: Callable[[], T | None]) -> T:
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        with suppress(NotController, OSError, EOFError):  # a controller that is just deposed, a process that just died
            if found := condition():
                return found
        time.sleep(0.1)
    raise TimeoutError(f"not within {WAIT_S} s")


def run(url: str, cluster: Cluster) -> None:
    for broker_id in (1, 2, 3):
        cluster.start(url, broker_id)
    first = wait_for(cluster.active)
    second, third = cluster.addresses.keys() - {first}
    operator = cluster.addresses[first]
    call(operator, "admin", "create_topics", {"orders": NewTopic(replica_assignments=[[first, second]])})
    call(operator, "admin", "alter_partition_reassignments", {ORDERS: [second, third]})
    print(f"controller {first} moves {ORDERS} from {[first, second]} to {[second, third]}")
    cluster.kill(first)

    active = wait_for(cluster.active)
    operator = cluster.addresses[active]
    seen = call(operator, "describe")
    print(f"process {first} is dead; controller {active}, epoch {seen.controller_epoch}, ", end="")
    print(f"continues {seen.reassigning_partitions} move")
    wait_for(lambda: not call(operator, "admin", "list_partition_reassignments"))
    topic = call(operator, "admin", "describe_topics", ["orders"])["orders"]
    print(f"{ORDERS} is on {list(topic.partitions[0].replicas)}, in sync {list(topic.partitions[0].isr)}")


def main(url: str) -> None:
    cluster = Cluster()
    try:
        run(url, cluster)
    finally:
        for process in cluster.processes.values():
            process.terminate()
        for process in cluster.processes.values():
            process.communicate()


if __name__ == "__main__":
    main(sys.argv[1])
