"""Journals that the rig really wrote, and ways to plant something in them.

`written` gives the rows of a run with moves, an override, a cancel, a failover and a deletion; `write` puts rows into
files again, with a chain that holds, so that what is planted is the only thing that is wrong.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from kedge import ReassignPartitionsOptions, ThrottledRate
from kedge.controller.model.throttles import CONFIGS
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import set_by_hand
from kedge.controller.runtime.journal import FolderSink, Journal, MemorySink
from kedge.pipeline.progress import Move
from tests.verify.explore import run_seed

Row = dict[str, Any]


@cache
def _written() -> tuple[str, ...]:
    sink = MemorySink()
    rig = Rig(
        3,
        brokers={i: "abc"[i % 3] for i in range(1, 7)},
        session_timeout_s=1.0,
        lag_max_ms=500,
        copy_rate_bytes_s=400_000,
        journal=lambda _: Journal(sink),
    )
    for topic in ("orders", "payments", "gone"):
        rig.create_topic(topic, replicas=[[1, 2, 3], [2, 3, 4]], records=100)
    orders, payments = TopicPartition("orders", 0), TopicPartition("payments", 1)
    rig.reassign({orders: [4, 5, 6], payments: [1, 5, 6]})
    rig.wait.until_replicas({orders: (4, 5, 6), payments: (1, 5, 6)})
    rig.reassign({orders: [1, 2, 3]})
    rig.run(100)
    rig.mishaps.kill_controller(_active(rig))
    rig.until(lambda: rig.active is not None, what="another controller leads")
    rig.wait.until_replicas({orders: (1, 2, 3)})
    rig.delete_topic("gone")
    rig.wait.until_converged()
    rig.run(2_000)
    return tuple(sink.lines)


@cache
def _throttled() -> tuple[str, ...]:
    """Throttled moves, rates that change while they run, a failover in the middle, what operators set, a throttle that
    is to stay, and a topic that loses partitions."""
    sink = MemorySink()
    rig = Rig(
        5,
        brokers=dict.fromkeys(range(1, 7)),
        session_timeout_s=1.0,
        copy_rate_bytes_s=400_000,
        journal=lambda _: Journal(sink),
    )
    (orders,) = rig.create_topic("orders", replicas=[[1, 2, 3]], records=100)
    rig.create_topic("shrunk", replicas=[[1, 2], [2, 3], [3, 4]], records=10)
    set_by_hand(rig, "brokers", "1", {"leader.replication.throttled.rate": "777000"})
    rig.run(200)
    options = ReassignPartitionsOptions(throttle=100_000)
    rig.result(rig.admin.reassign_partitions({orders: [4, 5, 6]}, options).all())
    rig.run(100)
    rig.mishaps.kill_controller(_active(rig))
    rig.until(lambda: rig.active is not None, what="another controller leads")
    rates = {broker: ThrottledRate(leader_rate=200_000, follower_rate=300_000) for broker in (1, 2, 4)}
    rig.result(rig.admin.alter_interbroker_throttled_rates(rates).all())
    set_by_hand(rig, "brokers", "2", dict.fromkeys(CONFIGS["brokers"], "555000"))
    rig.wait.until_replicas({orders: (4, 5, 6)})
    rig.run(100)
    stays = {6: ThrottledRate(leader_rate=50_000, follower_rate=50_000)}
    rig.result(rig.admin.alter_interbroker_throttled_rates(stays, auto_remove_throttle=False).all())
    rig.delete_partitions("shrunk", 1, immediate=True)
    rig.result(rig.admin.reassign_partitions({orders: [1, 2, 3]}, options).all())
    rig.wait.until_replicas({orders: (1, 2, 3)})
    rig.run(1_000)
    return tuple(sink.lines)


def throttled() -> list[Row]:
    """Fresh rows of the journal of throttles."""
    return [json.loads(line) for line in _throttled()]


def _active(rig: Rig) -> int:
    assert rig.active is not None
    return rig.active.node_id


def written() -> list[Row]:
    """Fresh rows of an honest journal of two terms."""
    return [json.loads(line) for line in _written()]


def find(rows: list[Row], event: str, nth: int = 0, **fields: Any) -> int:
    """Where the nth row of an event with these fields stands."""
    found = [i for i, row in enumerate(rows) if row["event"] == event and fields.items() <= row.items()]
    return found[nth]


def drop(rows: list[Row], i: int) -> None:
    """The row was never written; the rest of its commit is numbered without it."""
    gone = rows.pop(i)
    number([row for row in rows if (row["epoch"], row["seq"]) == (gone["epoch"], gone["seq"])])


def insert(rows: list[Row], i: int, *made: Row) -> None:
    """One more commit before row `i`, which begins one; later commits have their numbers moved on."""
    epoch, seq = rows[i]["epoch"], rows[i]["seq"]
    ts = rows[i]["ts"]
    for row in rows:
        row["seq"] += row["seq"] >= seq
    commit = [{"epoch": epoch, "seq": seq, "row": 0, "ts": ts, **one} for one in made]
    number(commit)
    rows[i:i] = commit


def append(rows: list[Row], *made: Row, later_ms: int = 1) -> None:
    """One more commit at the end of the last term."""
    last = rows[-1]
    at = {"epoch": last["epoch"], "seq": last["seq"] + 1, "row": 0, "ts": last["ts"] + later_ms}
    commit = [{**at, **one} for one in made]
    number(commit)
    rows += commit


def number(commit: list[Row]) -> None:
    for n, row in enumerate(commit):
        row["row"] = n
        row.pop("rows", None)
    if commit:
        commit[-1]["rows"] = len(commit)


def lines_of(rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as lines, with a new chain of hashes."""
    prev: dict[int, str] = {}
    for row in rows:
        epoch = row["epoch"]
        said = {name: value for name, value in row.items() if name not in ("rows", "prev")}
        said |= {"rows": row["rows"]} if "rows" in row else {}
        if row["event"] != "Takeover" and epoch in prev:
            said["prev"] = prev[epoch]
        line = json.dumps(said, separators=(",", ":")).encode()
        prev[epoch] = sha256(line).hexdigest()
        yield line


def write(folder: Path, rows: list[Row], lines_max: int = 10**9) -> list[Path]:
    """The files of rows: one per term, more where a commit ends after `lines_max` lines."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[int, list[list[bytes]]] = {}
    for row, line in zip(rows, lines_of(copy.deepcopy(rows)), strict=True):
        of_term = files.setdefault(row["epoch"], [[]])
        if len(of_term[-1]) >= lines_max and row["row"] == 0:
            of_term.append([])
        of_term[-1].append(line)
    paths = []
    for epoch, parts in files.items():
        for n, part in enumerate(parts):
            path = folder / f"kedge-{epoch}-{n}.jsonl"
            path.write_bytes(b"".join(line + b"\n" for line in part))
            paths.append(path)
    return sorted(paths, key=lambda path: [int(number) for number in path.stem.split("-")[1:]])


def seeded(folder: Path, seed: int, steps: int) -> None:
    """The journal of a cluster that was broken in every way for so many steps."""
    sinks: list[FolderSink] = []

    def journal(_: int) -> Journal:
        sinks.append(FolderSink(folder))
        return Journal(sinks[-1])

    run = run_seed(seed, steps, journal)
    for sink in sinks:
        sink.close()
    assert run.error is None, run.error


def values(rows: list[Row], topic: str, partition: int, **changes: Any) -> Row:
    """A partition as its last row says it stands, without what a row says besides."""
    last = next(r for r in reversed(rows) if "isr" in r and (r.get("topic"), r.get("partition")) == (topic, partition))
    kept = ("topic", "topic_id", "partition", "replicas", "isr", "leader", "leader_epoch", "partition_epoch", "status")
    return {name: last[name] for name in kept if name in last} | changes


def a_move(**changes: Any) -> Move:
    """A move of 1, 2 to 2, 3 that waits for 3."""
    return Move("t", 0, 1, 0, 0, None, None, (1, 2), (1, 2), (1, 2), (2, 3), 1, (3,), (3,), 0, 0)._replace(**changes)


# --- what can be planted: each changes rows in place and answers where the first offending event stands


def leader_outside_isr(rows: list[Row]) -> int:
    i = find(rows, "IsrChanged", topic="orders", partition=0)
    rows[i]["leader"] = 77
    return i


def completed_early(rows: list[Row]) -> int:
    """R := T although one of T is not in sync."""
    i = find(rows, "ReplicasChanged", topic="orders", partition=0)
    rows[i]["isr"] = [b for b in rows[i]["isr"] if b != rows[i]["target"][-1]]
    return i


def member_removed(rows: list[Row]) -> int:
    """R loses a member in the middle of a move."""
    i = find(rows, "ReplicasGrown", topic="orders", partition=0)
    rows[i]["replicas"] = rows[i]["replicas"][1:]
    return i


def target_touched(rows: list[Row]) -> int:
    i = find(rows, "ReplicasGrown", topic="payments", partition=1)
    rows[i]["target"] = [*rows[i]["target"][:-1], 2]
    return i


def leader_epoch_back(rows: list[Row]) -> int:
    i = find(rows, "TargetSet", topic="orders", partition=0)
    rows[i]["leader_epoch"] -= 1
    return i


def ordered_a_member_to_delete(rows: list[Row]) -> int:
    i = find(rows, "DeleteIntended", topic="orders", partition=0)
    rows[i]["broker"] = 4
    return i


def intent_forgotten(rows: list[Row]) -> int:
    """Who left R has no intent: it is missed where the rows of its partition end in this commit."""
    gone = find(rows, "DeleteIntended", topic="orders", partition=0)
    at = (rows[gone]["epoch"], rows[gone]["seq"])
    drop(rows, gone)
    return [i for i, r in enumerate(rows) if (r["epoch"], r["seq"]) == at and r.get("topic") == "orders"][-1]


def written_by_a_zombie(rows: list[Row]) -> int:
    """The first term writes once more, after the second took over."""
    second = find(rows, "Takeover", 1)
    made = values(rows[:second], "payments", 0, event="IsrChanged", cause="alter_isr")
    row = {"epoch": rows[0]["epoch"], "seq": rows[second]["seq"], "row": 0, "ts": rows[second]["ts"], **made, "rows": 1}
    rows.insert(second, row)
    return second


def row_missing(rows: list[Row]) -> int:
    """A line is gone from the middle of a commit, and the chain was made good again."""
    i = find(rows, "TargetCleared", topic="payments", partition=1)
    del rows[i]
    return i


def status_back(rows: list[Row]) -> int:
    partition = values(rows, "payments", 0)
    at = len(rows)
    append(rows, {"event": "StatusChanged", **partition, "status": -1, "leader_epoch": partition["leader_epoch"] + 1})
    append(rows, {"event": "StatusChanged", **partition, "status": 0, "leader_epoch": partition["leader_epoch"] + 2})
    return at + 1


def purged_online(rows: list[Row]) -> int:
    append(rows, {"event": "PartitionPurged", "topic": "payments", "partition": 1, "leader_epoch": 3})
    return len(rows) - 1


RATE = "follower.replication.throttled.rate"
LIST = "leader.replication.throttled.replicas"


def throttle(event: str, entity: str, configs: Row, was: Row | None = None, cause: str = "a request") -> Row:
    """A row as the controller writes it: what changed."""
    of_topic = {"topic": entity.partition("/")[2]} if entity.startswith("topics/") else {}
    detail = {"entity": entity, "configs": configs, "was": {} if was is None else was}
    return {"event": event, **of_topic, "cause": cause, "detail": detail}


def throttle_left(rows: list[Row]) -> int:
    """A throttle was set before the moves and never removed, and the journal goes on for minutes."""
    i = find(rows, "TargetSet")
    insert(rows, i, throttle("ThrottleSet", "brokers/5", {RATE: "1000"}))
    append(rows, {"event": "KeysRewritten"}, later_ms=180_000)
    return i


def throttle_of_a_topic_left(rows: list[Row]) -> int:
    i = find(rows, "TargetSet")
    insert(rows, i, throttle("ThrottleSet", "topics/orders", {LIST: "0:1,0:2"}))
    append(rows, {"event": "KeysRewritten"}, later_ms=180_000)
    return i


def throttle_removed_early(rows: list[Row]) -> int:
    """While one partition moves, and the row is of another topic."""
    i = find(rows, "ReplicasGrown", topic="orders", partition=0)
    while rows[i]["row"]:
        i -= 1
    insert(rows, i, throttle("ThrottleRemoved", "topics/payments", {}, {LIST: "0:1"}, "throttle removal"))
    return i


def term_without_takeover(rows: list[Row]) -> int:
    i = find(rows, "Takeover", 1)
    del rows[i]
    return i


def topic_twice(rows: list[Row]) -> int:
    i = find(rows, "TopicCreated", topic="orders")
    append(rows, {**{k: rows[i][k] for k in ("event", "topic", "detail")}, "topic_id": "another"})
    return len(rows) - 1


PLANTED: dict[Callable[[list[Row]], int], str] = {
    leader_outside_isr: "leader",
    completed_early: "completion",
    member_removed: "growth",
    target_touched: "target",
    leader_epoch_back: "leader epoch",
    ordered_a_member_to_delete: "intent",
    intent_forgotten: "owed intent",
    written_by_a_zombie: "superseded epoch",
    row_missing: "numbering",
    status_back: "status",
    purged_online: "status",
    throttle_left: "throttle",
    throttle_of_a_topic_left: "throttle",
    throttle_removed_early: "throttle",
    term_without_takeover: "term",
    topic_twice: "topic",
}
"""What is planted, and the kind of the violation that its first offending event is."""
