"""A legal journal of one term with every kind of row that rules decide, and ways to make a row of it illegal.

`rows()` gives fresh ones. A change is made on them in place; what follows keeps its numbers, so that just one rule is
broken.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cache
from typing import Any

from kedge.controller.audit import Illegal, Trace
from kedge.controller.model import events as e
from kedge.controller.model.values import Broker, BrokerRegistration, DeleteIntent, Move, Partition
from tests.journal.told import Row, Told


def rows() -> list[Row]:
    """orders-0 moves, is overridden and cancelled; a broker bounces; a leader dies; a topic comes, grows, and shrinks.
    `run-0` moves since a former term, and two replicas of orders-0 are to be deleted."""
    return copy.deepcopy(_rows())


@cache
def _rows() -> list[Row]:
    told = Told()
    told.world.plant(Partition("run", 0, (1, 2), (1, 2), 1, 3, Move((2, 3), (1, 2), 900)))
    told.world.state.intents.load(6, 30, [DeleteIntent(6, "orders", "id-of-orders", 0, 4)])
    told.world.state.intents.load(1, 31, [DeleteIntent(1, "old", "id-of-old", 0, 2)])
    told.take_over()
    told.move()
    told.tell(e.DeletionAcknowledged(0, tuple(told.world.state.open_intents(1))), "broker answered")
    told.reassign((4, 5, 1))
    told.reassign((4, 5, 2))
    told.reassign(None)
    told.tell(e.BrokerGone(0, 5, 1), "broker gone")
    told.tell(e.PartitionDue(0, "orders", 0, e.Reason.DIED), "broker gone")
    told.tell(e.DeathDone(0, 5, 1), "broker gone")
    told.tell(e.BrokerCame(0, Broker(BrokerRegistration(5), 2)), "broker came")
    told.tell(e.BrokerGone(0, 4, 1), "broker gone")
    told.tell(e.PartitionDue(0, "orders", 0, e.Reason.DIED), "broker gone")
    told.tell(e.CreateTopic(0, "new", 1, 2, None, {}, False, "id-of-new", 0, 0), "create_topics")
    told.tell(e.PartitionDue(0, "new", 0), "create_topics")
    told.tell(e.CreatePartitions(0, "new", 2, None), "create_partitions")
    told.tell(e.PartitionDue(0, "new", 1), "create_partitions")
    told.in_run(1, 2, 3)
    told.tell(e.DeletePartitions(1, "new", 1, None, immediate=False), "delete_partitions")
    told.tell(e.PartitionDue(1, "new", 1, e.Reason.RETIRE), "delete_partitions")
    told.tell(e.RetirementOver(10**9, "new", 1), "retirements due")
    for broker in range(1, 7):
        told.tell(e.DeletionAcknowledged(0, tuple(_of(told, "new", broker))), "broker answered")
    told.tell(e.PurgeDue(0, "new"), "broker answered")
    told.journal.resigned(told.now_ms, "closed")
    return told.rows


def _of(told: Told, topic: str, broker: int) -> list[DeleteIntent]:
    return [intent for intent in told.world.state.open_intents(broker) if intent.topic == topic]


def find(found: list[Row], event: str, nth: int = 0) -> int:
    """Where the nth row of an event stands."""
    return [i for i, row in enumerate(found) if row["event"] == event][nth]


def drop(found: list[Row], i: int) -> None:
    """Row `i` was never written: the rows of its commit are numbered without it."""
    gone = found.pop(i)
    rest = [row for row in found if row["seq"] == gone["seq"] and row["event"] != "Resigned"]
    _number(rest)


def swap(found: list[Row], i: int, j: int) -> None:
    """Two rows of one commit in the other order."""
    found[i], found[j] = found[j], found[i]
    _number([row for row in found if row["seq"] == found[i]["seq"]])


def _number(commit: list[Row]) -> None:
    for n, row in enumerate(commit):
        row["row"] = n
        row.pop("rows", None)
    if commit:
        commit[-1]["rows"] = len(commit)


def put(found: list[Row], *texts: dict[str, Any]) -> None:
    """One more commit, the last one of the term."""
    resigned = found.pop()
    seq = found[-1]["seq"] + 1
    commit = [{"epoch": 7, "seq": seq, "row": 0, "ts": 1, **text} for text in texts]
    _number(commit)
    found += [*commit, resigned | {"seq": seq, "row": len(commit)}]


def first_illegal(found: Iterable[Row]) -> tuple[int, Illegal] | None:
    """The first illegal row by its index, None if all are legal."""
    trace = Trace()
    for i, row in enumerate(found):
        illegal = trace.feed(row)
        if illegal is not None:
            return i, illegal
    return None


def values(**changes: Any) -> dict[str, Any]:
    """orders-0 as it stands at the end."""
    standing = {"replicas": [4, 5, 6], "isr": [6], "leader": 6, "leader_epoch": 12, "partition_epoch": 9, "status": 0}
    return {"topic": "orders", "topic_id": "id-of-orders", "partition": 0, **standing, **changes}
