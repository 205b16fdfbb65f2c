"""What the scenarios begin with: six brokers in three racks, a topic on the first three, a journal in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final

from kedge.controller.host import Controller
from kedge.controller.model.requests import ReassignmentAnswer
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Log, Node, Rig
from kedge.controller.rig.server import write
from kedge.controller.runtime.journal import Journal, MemorySink

ORDERS: Final = TopicPartition("orders", 0)
BEFORE: Final = (1, 2, 3)
AFTER: Final = (4, 5, 6)
SIX: Final[dict[str, Any]] = {
    "brokers": {i: "abc"[i % 3] for i in range(1, 7)},
    "session_timeout_s": 1.0,
    "lag_max_ms": 500,
}
MOVE_ROWS: Final = ("TargetSet", "IsrChanged", "ReplicasGrown", "ReplicasChanged", "TargetCleared", "IsrShrunk")


class Told:
    """A rig and the rows that its controllers journalled."""

    def __init__(self, **options: Any) -> None:
        self.sink = MemorySink()
        self.rig = Rig(**{**SIX, "journal": lambda _: Journal(self.sink), **options})

    def rows(self, *events: str) -> list[dict[str, Any]]:
        """The journal's rows, of some events or all."""
        found = [json.loads(line) for line in self.sink.lines]
        return [row for row in found if not events or row["event"] in events]

    def trace(self) -> list[tuple[str, list[int], list[int], list[int] | None]]:
        """Event, R, I, T of every row of a move of `orders-0`."""
        return [
            (row["event"], row["replicas"], row["isr"], row.get("target"))
            for row in self.rows(*MOVE_ROWS)
            if row["topic"] == "orders"
        ]


def orders(records: int = 1_000, **options: Any) -> Rig:
    """A rig with `orders-0` on 1, 2, 3."""
    rig = Rig(**{**SIX, **options})
    rig.create_topic("orders", replicas=[list(BEFORE)], records=records)
    return rig


def by_another(rig: Rig, write: Callable[[], object], *, is_led: bool) -> None:
    """Another client writes: while a controller leads, or while none runs, so that a takeover finds it."""
    if not is_led:
        for node in rig.nodes:
            rig.mishaps.kill_controller(node)
    write()
    if not is_led:
        rig.mishaps.restart_controller(101)


def put(rig: Rig, key: str, value: object) -> None:
    """Another client writes JSON, or bytes, to a key, whatever stands there."""
    write(rig.server, key, value if isinstance(value, bytes) else json.dumps(value).encode())


def keys_of(rig: Rig, topic: str) -> list[str]:
    """The keys that name the topic."""
    return [key for key in rig.server.table.rows if topic in key.split("/")]


def leave_alone(rig: Rig) -> None:
    """Broker 1 is the only one in sync."""
    for broker in (2, 3):
        rig.mishaps.kill_broker(broker)
    rig.until(lambda: rig.partition(ORDERS).isr == (1,), what="1 is alone")


def settle(rig: Rig) -> None:
    """All that is under way ends, and everything that must hold in the end holds."""
    rig.wait.until_converged()
    rig.until(lambda: all(p.move is None for p in rig.committed.partitions.values()), what="no move is left")
    rig.wait.until_converged()
    rig.check_end()


def log_of(rig: Rig, broker: int, tp: TopicPartition = ORDERS) -> Log:
    """The log that the broker holds."""
    log = rig.brokers[broker].log(tp)
    assert log is not None
    return log


def leading(rig: Rig) -> Node:
    """The node that leads; time passes until there is one."""
    rig.until(lambda: rig.active is not None, what="a controller is active")
    assert rig.active is not None
    return rig.active


def running(node: Node) -> Controller:
    """The controller that runs on the node."""
    assert node.controller is not None
    return node.controller


def asked(node: Node, target: Sequence[int] | None) -> Future[ReassignmentAnswer]:
    """A request for `orders-0` to just this node, whatever it is worth."""
    return running(node).admin.alter_partition_reassignments({ORDERS: target})[ORDERS]
