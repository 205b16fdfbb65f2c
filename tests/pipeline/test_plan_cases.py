"""Plans in small cases, of what is asked for wrongly, and of the layouts and maps in tests/data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.rules.placement import assign_replicas
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.choice import Choice
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.requests import Add, Drain, FixRacks, Rebalance, ReducePartitions, Request, SetFactor
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.tables.rejects import Rejects
from tests.kit.data import LAYOUTS
from tests.pipeline.snapshots import broker, loads, partition, tables
from tests.pipeline.test_plan import Tables, made, rows

CHECKOUT = Path(__file__).resolve().parents[2]

SMALL = {
    **tables(
        [broker(1, "a"), broker(2, "b"), broker(3, "a", "draining")],
        [partition("t", 0, [1, 2]), partition("u", 0, [3])],
    ),
    "replica_load": loads({("t", 0): 10, ("u", 0): 20}),
}


def test_partitions_without_a_size_do_not_all_go_to_the_emptiest_broker() -> None:
    """Broker 6 stays the emptiest by what is known, whatever goes there."""
    unsized = [partition("unknown", p, [1]) for p in range(40)]
    sized = [partition("known", p, [2 + p % 4]) for p in range(40)]
    given = tables(map(broker, range(1, 7)), [*sized, *unsized])
    given["replica_load"] = loads({("known", p): 1000 for p in range(40)} | {("unknown", p): None for p in range(40)})
    found = made(given, Drain((1,)))
    replicas = [row["replicas_after"] for row in rows(found, "plan_load")]
    assert replicas == [0, 16, 16, 16, 16, 16]
    (row,) = rows(found, "plan")
    assert (row["bytes_copied"], row["copied_unsized"], row["size_max_mean_after"]) == (None, 40, 1.25)


@pytest.mark.parametrize(
    "request_, reasons",
    [
        (Drain((3,)), [("t", 1, 3)]),
        (Drain((1,)), [("lost", None, None)]),
        (SetFactor(2), [("lost", None, None), ("t", 1, None)]),
        (FixRacks(), [("lost", None, None), ("t", 1, None)]),
        (Rebalance(), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rejected_partitions_make_a_plan_incomplete(request_: Request, reasons: list[Any]) -> None:
    """A partition on (3, 2, 3), and a topic whose replicas cannot be read."""
    given = tables(map(broker, range(1, 5)), [partition("t", 0, [1, 2]), partition("t", 1, [3, 2, 3])])
    rejects = Rejects()
    rejects.add("/brokers/topics/lost", None, "{", "not JSON", topic="lost")
    found = validate({**given, "rejected_rows": rejects.table()})
    found = made({**found, **load(found)}, request_)
    lost = [
        (r["topic"], r["partition"], r["broker_id"]) for r in rows(found, "plan_reason") if "rejected" in r["reason"]
    ]
    (row,) = rows(found, "plan")
    known = [("lost", None, None)] if isinstance(request_, Drain) and reasons[0][0] == "t" else []
    assert lost == known + reasons
    assert row["rejected"] >= len(lost)
    assert row["complete"] is not bool(lost) or isinstance(request_, Rebalance)


def test_of_replicas_that_can_go_those_that_are_not_in_sync_go_first() -> None:
    """A move that kept one would wait for it, and had another deleted meanwhile."""
    rows_ = [partition("t", 0, [1, 2, 3], isr=[1, 3]), partition("u", 0, [1, 2, 3], isr=[2, 3], leader=2)]
    given = tables(map(broker, range(1, 4)), rows_[::-1])
    given["replica_load"] = loads({("t", 0): 10, ("u", 0): 10})
    moved = {row["topic"]: set(row["target_replicas"]) for row in rows(made(given, SetFactor(2)), "plan_move")}
    assert moved == {"t": {1, 3}, "u": {2, 3}}
    racks = [broker(1, "a"), broker(2, "a"), broker(3, "b")]  # where a rack would have none, it stays all the same
    given = {**tables(racks, [partition("t", 0, [1, 2, 3], isr=[1, 2])]), "replica_load": loads({("t", 0): 10})}
    (move,) = rows(made(given, SetFactor(2)), "plan_move")
    assert set(move["target_replicas"]) == {1, 3}
    crowded = [*racks, broker(4, "c")]
    given = {**tables(crowded, [partition("t", 0, [1, 2, 3], isr=[2, 3])]), "replica_load": loads({("t", 0): 10})}
    (move,) = rows(made(given, FixRacks()), "plan_move")
    assert set(move["target_replicas"]) == {2, 3, 4}


def test_a_rack_that_the_snapshot_lacks_is_taken_from_who_asks() -> None:
    """Of a broker that is registered without one, too; else racks would be mixed, and the plan refused."""
    given = tables([broker(1, "a"), broker(2, "b"), broker(3)], [partition("t", p, [1, 2]) for p in range(6)])
    given["replica_load"] = loads({("t", p): 10 for p in range(6)})
    with pytest.raises(BadInput, match=r"brokers \[3\] have no rack"):
        made(given, Add(((3, None),)))
    moved = rows(made(given, Add(((3, "b"),), tolerance=0.0)), "plan_move")
    assert {tuple(row["target_replicas"]) for row in moved} <= {(1, 3), (3, 1)}
    assert len(moved) == 3, "30 bytes on each broker of rack b, since broker 1 keeps its 60"


@pytest.mark.parametrize(
    "request_,message",
    [
        (lambda: Drain((9,)), r"unknown brokers: \[9\]; the snapshot has \[1, 2, 3\]"),
        (lambda: Add(()), "expected at least one broker"),
        (lambda: Add(((2, "a"),)), "add: broker 2 has rack b in the snapshot, not a"),
        (lambda: Add(((3, None),)), r"brokers \[3\] are dead or draining"),
        (lambda: SetFactor(0), "replication factor: expected 1 or more, got 0"),
        (lambda: Rebalance(-0.1), "tolerance"),
        (lambda: Rebalance(bytes_max=-1), "limit of bytes to move"),
        (lambda: ReducePartitions(0, 1), "limits of a partition"),
    ],
)
def test_what_cannot_be_asked_is_a_clear_error(request_: Callable[[], Request], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        made(SMALL, request_())


@pytest.mark.parametrize(
    "spoilt,message",
    [
        ({"partition": tables([], [partition("t", 0, [1, 1])])["partition"]}, "table partition: .* occurs twice"),
        ({"partition": tables([], [partition("t", 0, [1]), partition("t", 0, [2])])["partition"]}, "table partition"),
        ({"partition": tables([], [partition("t", 0, [])])["partition"]}, "table partition"),
        ({"partition": tables([], [partition("t", 0, [7])])["partition"]}, "broker 7 holds replicas and is not in"),
        ({"replica_load": loads({("t", 0): -1})}, "table replica_load: a size or a rate is negative"),
        ({"replica_load": loads({("t", 0): 1}, float("nan"))}, "table replica_load"),
    ],
)
def test_unvalidated_tables_are_refused(spoilt: Tables, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        made({**SMALL, **spoilt}, Drain((1,)))


def test_what_has_a_replica_on_a_dead_broker_is_not_levelled_and_has_that_reason() -> None:
    brokers = [broker(1), broker(2), broker(3, state="dead")]
    given = {**tables(brokers, [partition("t", p, [1, 3]) for p in range(4)]),
             "replica_load": loads({("t", p): 10 for p in range(4)})}  # fmt: skip
    found = made(given, Rebalance())
    assert found["plan_move"].num_rows == 0
    assert {row["reason"] for row in rows(found, "plan_reason")} == {
        "another replica is on a dead broker, for which a move would wait: drain that broker first"
    }


def test_drain_without_brokers_empties_those_in_state_draining() -> None:
    found = made(SMALL, Drain())
    assert [(move["topic"], move["target_replicas"]) for move in rows(found, "plan_move")] == [("u", [1])]
    with pytest.raises(BadInput, match="none has the state draining"):
        made({**SMALL, "broker": tables([broker(1), broker(2), broker(3)], [])["broker"]}, Drain())


def test_where_no_size_is_known_replicas_are_spread_by_their_number() -> None:
    given = {
        **tables([broker(b) for b in range(1, 6)], [partition("t", p, [1]) for p in range(12)]),
        "replica_load": loads({("t", p): 0 for p in range(12)}),
    }
    targets = [b for move in rows(made(given, Drain((1,))), "plan_move") for b in move["target_replicas"]]
    assert {b: targets.count(b) for b in (2, 3, 4, 5)} == dict.fromkeys((2, 3, 4, 5), 3)


def test_a_broker_that_is_draining_gets_nothing_from_any_plan() -> None:
    assert {b for m in rows(made(SMALL, Drain((1,))), "plan_move") for b in m["target_replicas"]} <= {2}
    reasons = {row["reason"] for row in rows(made(SMALL, SetFactor(3)), "plan_reason")}
    assert reasons == {"every remaining broker in the possible racks already holds a replica of the partition"}


def test_a_broker_that_is_not_in_the_snapshot_can_be_added() -> None:
    given = {
        **tables([broker(1, "a"), broker(2, "a")], [partition("t", p, [1 + p % 2]) for p in range(6)]),
        "replica_load": loads({("t", p): 10 for p in range(6)}),
    }
    found = made(given, Add(((7, "b"),)))
    assert {row["broker_id"]: row["size_bytes_after"] for row in rows(found, "plan_load")} == {1: 20, 2: 20, 7: 20}
    assert rows(found, "plan")[0]["bytes_copied"] == rows(found, "plan")[0]["bytes_bound"] == 20


def test_a_broker_added_to_one_rack_takes_no_replica_that_is_the_last_of_another() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "b")]
    given = {**tables(brokers, [partition("t", p, [1, 2]) for p in range(4)]),
             "replica_load": loads({("t", p): 10 for p in range(4)})}  # fmt: skip
    found = made(given, Add(((3, None),)))
    assert {tuple(move["target_replicas"]) for move in rows(found, "plan_move")} <= {(1, 3), (3, 1)}
    reasons = {(row["broker_id"], row["reason"]) for row in rows(found, "plan_reason")}
    assert (1, "the rack would lose its only replica, and every possible rack already has one") in reasons


def test_where_all_brokers_are_drained_every_replica_has_a_reason() -> None:
    found = made(SMALL, Drain((1, 2, 3)))
    assert (found["plan_move"].num_rows, len(rows(found, "plan_reason"))) == (0, 3)
    assert rows(found, "plan")[0]["complete"] is False


@pytest.mark.parametrize(
    "limit,reason",
    [
        ({"disk": 25}, "no broker in the possible racks has enough disk"),
        ({"nw_in": 1.0}, "no broker in the possible racks can receive the rate of writing"),
        ({"nw_out": 1.0}, "no broker in the possible racks could send the rate of reading, if it led the partition"),
    ],
)
def test_a_capacity_is_kept_and_named(limit: dict[str, Any], reason: str) -> None:
    brokers = [broker(1), broker(2), broker(3, **limit)]
    given = {**tables(brokers, [partition("t", 0, [1, 2])]), "replica_load": loads({("t", 0): 30}, 2.0)}
    found = made(given, Drain((1,)))
    assert [row["reason"] for row in rows(found, "plan_reason")] == [reason]


def test_topics_shrink_to_what_keeps_each_partition_below_the_limits() -> None:
    partitions = [partition("big", p, [1]) for p in range(8)] + [partition("small", p, [1]) for p in range(4)]
    partitions += [partition("__own", p, [1]) for p in range(4)] + [
        partition("moves", 0, [1]),
        partition("moves", 1, [1], target=[2]),
    ]
    load_ = loads({(row[0], row[1]): 100 if row[0] == "big" else 1 for row in partitions}, 5.0)
    given = {**tables([broker(1), broker(2)], partitions), "replica_load": load_}
    found = made(given, ReducePartitions(bytes_max=200, bps_max=1000.0))
    shown = [(row["topic"], row["partitions"], row["total_count"]) for row in rows(found, "reduction")]
    assert shown == [("big", 8, 4), ("small", 4, 1)]
    assert [(r["topic"], r["partition"], r["reason"]) for r in rows(found, "plan_reason")] == [
        ("moves", None, "a partition is being reassigned or reduced")
    ]
    by_rate = made(given, ReducePartitions(10_000, 6.0), choice=Choice(topics=("small",)))
    assert [(r["topic"], r["total_count"]) for r in rows(by_rate, "reduction")] == []


def test_a_topic_of_which_a_rate_or_a_size_is_not_known_is_not_shrunk() -> None:
    """An unknown rate is no rate of 0: by the size alone each of these could go down to one partition."""
    partitions = [
        *(partition("known", p, [1], retention_ms=1000) for p in range(4)),
        *(partition("no-retention", p, [1], retention_ms=1000 if p else None) for p in range(4)),
        *(partition("without-end", p, [1], retention_ms=-1) for p in range(4)),
        *(partition("no-size", p, [1], write_bps=1.0) for p in range(4)),
    ]
    logs = [(1, row[0], row[1], 10) for row in partitions if row[0] != "no-size"]
    given = validate(tables([broker(1)], partitions, logs))
    found = made(given | load(given), ReducePartitions(bytes_max=10**6, bps_max=1e6))
    assert [(row["topic"], row["total_count"]) for row in rows(found, "reduction")] == [("known", 1)]
    assert {row["topic"]: row["reason"] for row in rows(found, "plan_reason")} == {
        "no-retention": "the rate of writing of some partitions is not known",
        "no-size": "the size of some partitions is not known",
        "without-end": "the rate of writing of some partitions is not known",
    }
    assert rows(found, "plan")[0]["complete"] is False


def test_balance_is_reported_over_the_same_brokers_before_and_after() -> None:
    """Who stays is level before and after: that the one to be emptied holds three times as much is no imbalance."""
    parts = [partition("t", p, [1]) for p in range(6)] + [partition("u", p, [2 + p % 2]) for p in range(4)]
    given = {
        **tables([broker(b) for b in (1, 2, 3)], parts),
        "replica_load": loads({(row[0], row[1]): 10 for row in parts}),
    }
    (said,) = rows(made(given, Drain((1,))), "plan")
    for when in ("before", "after"):
        assert (said[f"size_max_mean_{when}"], said[f"leaders_max_mean_{when}"]) == (1.0, 1.0)
    (added,) = rows(made(given, Add(((4, None),))), "plan")
    assert added["size_max_mean_before"] == 2.4, "60 bytes against 25: over the four that there will be"


@pytest.mark.slow
def test_a_plan_does_not_depend_on_how_strings_are_hashed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from kedge.pipeline.generating import generate\n"
        "from kedge.pipeline.stages.plan import plan; from kedge.pipeline.stages.requests import *\n"
        "from kedge.pipeline.tables.files import Place; from kedge.pipeline.tables.declared import TABLES\n"
        "t = generate(brokers=12, topics=9, partitions=7, seed=4, empty_brokers=2)\n"
        "for r in (Drain((1001,)), Rebalance(), SetFactor(2), Leaders(), FixRacks()):\n"
        "    for n, x in plan(t, r, name=type(r).__name__).items():\n"
        "        Place(Path(sys.argv[1]), 'c', 's').write(TABLES[n], x, type(r).__name__)\n"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / seed)],
            env={"PYTHONHASHSEED": seed},
            cwd=CHECKOUT,
            check=True,
        )
    files = sorted(path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*.parquet"))
    assert len(files) == 20
    assert all((tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes() for file in files)


@pytest.mark.slow
def test_clusters_are_drained_broker_by_broker_within_their_racks() -> None:
    """In one of them a rack has five brokers and another one a single one."""
    for racks in LAYOUTS.values():
        ids = sorted(racks)
        placed = assign_replicas(racks, 40, 3, start=0, shift=0)
        parts = [partition("t", p, replicas) for p, replicas in enumerate(placed)]
        given = {**tables([broker(b, racks[b]) for b in ids], parts),
                 "replica_load": loads({("t", p): 1000 + p for p in range(40)})}  # fmt: skip
        for gone in ids:
            found = made(given, Drain((gone,)))
            possible = len({rack for b, rack in racks.items() if b != gone})
            for move in rows(found, "plan_move"):
                spread = len({racks[b] for b in move["target_replicas"]})
                assert spread == min(3, possible)
            assert rows(found, "plan")[0]["complete"]
