"""Directories of one broker: a new replica goes into the one that is filled least, and a broker's own are levelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kedge.controller.cli.reassign.plan import parse_plan
from kedge.controller.model.values import TopicPartition
from kedge.pipeline import (
    BalanceDisks,
    Drain,
    Limits,
    Rebalance,
    SetFactor,
    WaveSettings,
    generate,
)
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.export import export, files
from kedge.pipeline.stages.log_dirs import capacity_of, with_sizes
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.waves import waves
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import LOG_DIR, REPLICA_LOG
from tests.pipeline.snapshots import broker, loads, partition, tables, with_log_dirs

SEEDS = range(12)
SHARE = 0.85
Dir = tuple[int, str]


def cluster(seed: int, fill: float = 0.5) -> dict[str, Arrow]:
    chance = Random(seed)
    made = generate(brokers=chance.randint(4, 9), topics=5, partitions=12, racks=chance.choice((0, 3)), seed=seed)
    return with_log_dirs(made, seed, fill=fill)


def small(dirs: Mapping[Dir, tuple[int | None, int]], sizes: Mapping[int, int]) -> dict[str, Arrow]:
    """Partitions of topic t with these sizes on broker 1 in directory /a. `dirs`: total bytes, and bytes held already
    by replicas of topic u."""
    more = [(b, path, "u", i, held, 0, False) for i, ((b, path), (_, held)) in enumerate(dirs.items()) if held]
    logs = [(1, "/a", "t", p, size, 0, False) for p, size in sizes.items()] + more
    found = tables(
        [broker(b) for b in sorted({b for b, _ in dirs})], [partition(log[2], log[3], [log[0]]) for log in logs]
    )
    found["replica_load"] = loads({(log[2], log[3]): log[4] for log in logs})
    rows = [(b, path, total, total and total - held, False, None) for (b, path), (total, held) in dirs.items()]
    found["replica_log"] = from_rows(REPLICA_LOG, logs)
    return found | {"log_dir": with_sizes(from_rows(LOG_DIR, rows), found["replica_log"])}


def rows(found: Mapping[str, Arrow], name: str = "plan_log_dir") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found[name].to_pylist() if name in found else []
    return listed


def named(found: Mapping[str, Arrow]) -> dict[tuple[str, int, int], str]:
    return {(row["topic"], row["partition"], row["broker_id"]): row["log_dir"] for row in rows(found)}


def sizes_of(given: Mapping[str, Arrow]) -> dict[tuple[str, int], int]:
    return {(row["topic"], row["partition"]): row["size_bytes"] for row in given["replica_load"].to_pylist()}


def filled(given: Mapping[str, Arrow], found: Mapping[str, Arrow]) -> dict[Dir, int]:
    """The bytes of each directory after the plan, with those that leave their broker."""
    held = {(row["broker_id"], row["log_dir"]): row["size_bytes"] for row in given["log_dir"].to_pylist()}
    sizes = sizes_of(given)
    for row in rows(found):
        size = sizes[row["topic"], row["partition"]]
        held[row["broker_id"], row["log_dir"]] += size
        if row["log_dir_before"] is not None:
            held[row["broker_id"], row["log_dir_before"]] -= size
    return held


def capacities(given: Mapping[str, Arrow]) -> dict[Dir, int]:
    return {(row["broker_id"], row["log_dir"]): capacity_of(row) or 0 for row in given["log_dir"].to_pylist()}


REQUESTS = [
    Drain((1001,)),
    Rebalance(0.1),
    SetFactor(4),
    Rebalance(0.05, by=("bytes", "network-in", "network-out")),
    Rebalance(0.05, by=("replicas",)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_new_replica_has_a_directory_with_room(seed: int, request_: Any) -> None:
    given = cluster(seed, 0.95)
    found = plan(given, request_, name="p", limits=Limits(SHARE))
    paths: dict[int, set[str]] = {}
    for row in given["log_dir"].to_pylist():
        paths.setdefault(row["broker_id"], set()).add(row["log_dir"])
    new = {
        (row["topic"], row["partition"], b)
        for row in found["plan_move"].to_pylist()
        for b in set(row["target_replicas"]) - set(row["replicas"])
    }
    assert named(found).keys() == {key for key in new if len(paths[key[2]]) > 1}
    cordoned = {(row["broker_id"], row["log_dir"]) for row in given["log_dir"].to_pylist() if row["is_cordoned"]}
    after, most = filled(given, found), capacities(given)
    for _, _, b, path in ((*key, path) for key, path in named(found).items()):
        assert path in paths[b]
        assert (b, path) not in cordoned
        assert after[b, path] <= most[b, path] * SHARE


def test_a_new_replica_goes_where_the_share_is_least() -> None:
    """Of 100 bytes 50 are taken, of 1000 bytes 300: each replica counts for the next."""
    given = small({(1, "/a"): (None, 0), (2, "/a"): (100, 50), (2, "/b"): (1000, 300)}, {0: 200, 1: 20, 2: 10})
    assert named(plan(given, Drain((1,)), name="p")) == {("t", 0, 2): "/b", ("t", 1, 2): "/a", ("t", 2, 2): "/b"}


def test_bytes_decide_where_a_volume_is_unknown() -> None:
    given = small({(1, "/a"): (None, 0), (2, "/a"): (None, 50), (2, "/b"): (100, 60)}, {0: 20, 1: 1})
    assert named(plan(given, Drain((1,)), name="p")) == {("t", 0, 2): "/a", ("t", 1, 2): "/b"}


def test_a_broker_without_room_in_one_directory_gets_nothing() -> None:
    """All of broker 2 has room for 60 bytes, none of its directories; broker 3 is fuller."""
    full = {(2, "/a"): (100, 50), (2, "/b"): (100, 50)}
    given = small({(1, "/a"): (None, 0), **full, (3, "/a"): (1000, 500)}, {0: 60})
    (move,) = plan(given, Drain((1,)), name="p")["plan_move"].to_pylist()
    assert move["target_replicas"] == [3]
    found = plan(small({(1, "/a"): (None, 0), **full}, {0: 60}), Drain((1,)), name="p")
    assert [row["reason"] for row in rows(found, "plan_reason")] == ["no broker in the possible racks has enough disk"]


@pytest.mark.parametrize("seed", SEEDS)
def test_directories_of_each_broker_are_levelled(seed: int) -> None:
    """No replica leaves its broker, no directory both gives and takes, and what stays uneven has a reason."""
    given = cluster(seed)
    found = plan(given, BalanceDisks(tolerance=0.02), name="p", limits=Limits(1.0))
    after, most, (said,) = filled(given, found), capacities(given), found["plan"].to_pylist()
    held = {(row["broker_id"], row["log_dir"]): row["size_bytes"] for row in given["log_dir"].to_pylist()}
    gives = {(row["broker_id"], row["log_dir_before"]) for row in rows(found)}
    takes = {(row["broker_id"], row["log_dir"]) for row in rows(found)}
    assert not gives & takes
    assert all(after[one] <= most[one] for one in takes)
    where = {
        (log["topic"], log["partition"], log["broker_id"]): log["log_dir"] for log in given["replica_log"].to_pylist()
    }
    assert all(where[row["topic"], row["partition"], row["broker_id"]] == row["log_dir_before"] for row in rows(found))
    several = {b for b, path in held if path == "/d1"}
    refused = {row["broker_id"] for row in rows(found, "plan_reason")}
    for b in several:
        mine = [one for one in held if one[0] == b]
        share = sum(held[one] for one in mine) / sum(most[one] for one in mine)
        assert b in refused or all(after[one] <= 1.02 * share * most[one] + 1 for one in mine)
    sizes = sizes_of(given)
    copied = sum(sizes[row["topic"], row["partition"]] for row in rows(found))
    assert said["bytes_bound"] <= said["bytes_copied"] == copied
    assert said["complete"] == (not refused)
    assert said["size_max_mean_after"] <= said["size_max_mean_before"]
    assert all(move["replicas"] == move["target_replicas"] for move in found["plan_move"].to_pylist())


def test_the_same_tables_level_to_the_same_bytes() -> None:
    given = cluster(3)
    shuffled = given | {"replica_log": given["replica_log"].take(list(range(given["replica_log"].num_rows))[::-1])}
    assert files(plan(given, BalanceDisks(), name="p")) == files(plan(shuffled, BalanceDisks(), name="p"))


def test_replicas_that_are_being_moved_keep_their_directory() -> None:
    """Partition 0 already moves to /b, and partition u-1 is being reassigned."""
    given = small({(1, "/a"): (None, 0), (1, "/b"): (None, 0), (2, "/a"): (None, 0)}, {0: 50, 1: 50})
    future = from_rows(REPLICA_LOG, [(1, "/b", "t", 0, 10, 0, True)])
    given["replica_log"] = from_rows(
        REPLICA_LOG, [[*row.values()] for t in (given["replica_log"], future) for row in t.to_pylist()]
    )
    assert named(plan(given, BalanceDisks(), name="p")) == {("t", 1, 1): "/b"}
    moving = given | {
        "partition": tables([], [partition("t", 0, [1]), partition("t", 1, [1], target=[2])])["partition"]
    }
    found = plan(moving, BalanceDisks(), name="p")
    assert (named(found), {row["reason"] for row in rows(found, "plan_reason")}) == ({}, {"the replica is being moved"})


def test_brokers_without_several_directories_are_refused() -> None:
    given = small({(1, "/a"): (None, 0), (2, "/a"): (None, 0), (2, "/b"): (None, 0)}, {0: 1})
    with pytest.raises(BadInput, match="none of the brokers has several log directories"):
        plan(given, BalanceDisks((1,)), name="p")
    with pytest.raises(BadInput, match="none of the brokers has several log directories"):
        plan({**given, "log_dir": given["log_dir"].slice(0, 1)}, BalanceDisks(), name="p")
    with pytest.raises(BadInput, match=r"unknown brokers: \[9\]"):
        plan(given, BalanceDisks((9,)), name="p")


def test_only_chosen_brokers_are_levelled() -> None:
    given = cluster(5)
    several = {row["broker_id"] for row in rows(plan(given, BalanceDisks(), name="p"))}
    one = min(several)
    assert {row["broker_id"] for row in rows(plan(given, BalanceDisks((one,)), name="p"))} == {one}


def test_exported_files_name_directories_and_undo_them(tmp_path: Path) -> None:
    given = small({(1, "/a"): (None, 0), (1, '/b"'): (None, 0)}, {0: 40, 1: 60})
    given |= plan(given, BalanceDisks(tolerance=0.5), name="p")
    export(given, tmp_path / "out", cluster="c", snapshot="1")
    done, undone = (parse_plan((tmp_path / "out" / name).read_bytes()) for name in ("plan.json", "rollback/plan.json"))
    (moved,) = done.dirs
    assert (done.dirs[moved], undone.dirs[moved]) == ('/b"', "/a")
    assert done.targets == undone.targets == {moved[0]: (1,)}
    with pytest.raises(BadInput, match="moves replicas within brokers only, and has no waves"):
        waves(given, "p", WaveSettings())


def test_waves_name_the_directory_of_each_new_replica() -> None:
    given = small({(1, "/a"): (None, 0), (2, "/a"): (None, 5), (2, "/b"): (None, 0)}, {0: 40, 1: 60})
    given |= plan(given, Drain((1,)), name="p")
    given |= waves(given, "p", WaveSettings(per_broker=1))
    found = {path: json.loads(data) for path, data in files(given).items() if path.endswith("json")}
    of = {
        path: [(e["partition"], e.get("log_dirs")) for e in found[path]["partitions"]]
        for path in found
        if "wave-" in path
    }
    assert of["waves/wave-0001.json"] == [(1, ["/b"])]
    assert of["waves/wave-0002.json"] == [(0, ["/a"])]
    assert of["rollback/wave-0001.json"] == [(1, None)]
    whole = parse_plan(files(given)["plan.json"])
    assert whole.dirs == {(TopicPartition("t", 0), 2): "/a", (TopicPartition("t", 1), 2): "/b"}


def test_logs_that_differ_a_little_are_shared_out() -> None:
    given = small({(1, "/a"): (None, 0), (1, "/b"): (None, 0)}, {p: 1000 + p * p for p in range(4)})
    found = plan(given, BalanceDisks(), name="p")
    assert len(named(found)) == 2
