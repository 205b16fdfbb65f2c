"""The stages as functions on Arrow tables, of one snapshot or of many."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.pipeline import WaveSettings, generate, local
from kedge.pipeline.errors import BadInput, NotFound
from kedge.pipeline.tables.arrow import Arrow
from tests.kit.commands import run
from tests.pipeline.snapshots import broker, partition, tables

COLLECTED = ("broker", "partition")


def keyed(table: Arrow, cluster: str) -> Arrow:
    for name, value in (("cluster", cluster), ("snapshot", "1")):
        table = table.append_column(name, pa.repeat(value, table.num_rows))
    return table


def planned(given: dict[str, Arrow]) -> dict[str, Arrow]:
    silver = local.compute_load(local.validate(given))
    return dict(local.waves(local.drain(local.check(silver), brokers=[1001]), WaveSettings(throttle_bps=1e6)))


def test_each_snapshot_of_a_table_is_planned_alone() -> None:
    alone = {name: generate(brokers=9, topics=3, partitions=4, seed=n) for n, name in enumerate(("east", "west"))}
    both = {
        table: pa.concat_tables([keyed(alone[cluster][table], cluster) for cluster in ("west", "east")])
        for table in COLLECTED
    }
    together = planned(both)
    for cluster, given in alone.items():
        for name, table in planned({table: given[table] for table in COLLECTED}).items():
            ours = together[name].filter(pa.compute.equal(together[name]["cluster"], cluster))
            assert ours.drop_columns(["cluster", "snapshot"]).equals(table), name


def test_the_result_has_the_given_tables_and_those_added() -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    found = local.drain(given, brokers=[1001], name="first")
    assert {*found} == {*given, "plan", "plan_move", "plan_reason", "plan_load"}
    assert found["partition"] is given["partition"]
    assert found["plan"]["plan"].to_pylist() == ["first"]


def test_a_request_that_is_empty_for_a_snapshot_adds_no_plan() -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    assert {*local.waves(local.drain(given))} == {*given}


def test_keys_in_some_tables_only_are_refused() -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    with pytest.raises(BadInput, match="cluster and snapshot in all tables, or in none"):
        local.validate({**given, "broker": keyed(given["broker"], "east")})


def test_validating_again_changes_nothing() -> None:
    """Also of rows that were rejected by then."""
    given = tables([broker(1), broker(1)], [partition("t", 0, [1]), partition("t", 1, [1, 1])])
    once = local.validate(given)
    assert once["rejected_rows"].num_rows == 2
    assert dict(local.validate(once)) == dict(once)
    assert local.validate({**given, "rejected_rows": once["rejected_rows"]})["rejected_rows"] == once["rejected_rows"]


def test_what_is_written_is_what_the_commands_read(tmp_path: Path) -> None:
    """And what another program wrote stays as it is."""
    given = generate(brokers=9, topics=3, partitions=4)
    for name in COLLECTED:
        (folder := tmp_path / name / "cluster=east" / "snapshot=1").mkdir(parents=True)
        pq.write_table(given[name], folder / "00000-0.parquet")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    raw = local.read(tmp_path)
    assert raw == {name: given[name] for name in COLLECTED}
    with pytest.raises(NotFound, match="no snapshot 2"):
        local.read(tmp_path, snapshot="2")
    local.write(
        local.drain(local.compute_load(local.validate(raw)), brokers=[1001]), tmp_path, cluster="east", snapshot="1"
    )
    assert run("plan", "waves", tmp_path, "--name", "drain", "--throttle", "1MB").exit_code == 0
    assert {path: path.read_bytes() for path in before} == before
    names = ("broker_valid", "plan_move", "wave")
    assert {*local.read(tmp_path, names, plan="drain")} == {"broker", "plan_move", "wave"}
    with pytest.raises(BadInput, match="unknown tables plans"):
        local.read(tmp_path, ["plans"])


def test_keys_are_texts_of_whatever_was_read() -> None:
    """Readers of Parquet take cluster=7 for a number and snapshot=2026-11-28 for a date."""
    given = generate(brokers=3, topics=1, partitions=2)
    keys = {"cluster": pa.scalar(7), "snapshot": pa.scalar(date(2026, 11, 28))}
    keyed_tables = dict(given)
    for key, value in keys.items():
        keyed_tables = {n: t.append_column(key, pa.repeat(value, t.num_rows)) for n, t in keyed_tables.items()}
    found = local.validate(keyed_tables)["partition"]
    assert found.select(["cluster", "snapshot"]).slice(0, 1).to_pylist() == [{"cluster": "7", "snapshot": "2026-11-28"}]
    nulls = {n: t.set_column(t.schema.get_field_index("cluster"), "cluster", pa.nulls(t.num_rows, pa.string()))
             for n, t in keyed_tables.items()}  # fmt: skip
    with pytest.raises(BadInput, match="column cluster: expected a name in each row, got null"):
        local.validate(nulls)


def test_ids_may_be_integers_of_numpy() -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    of: list[Any] = [[1001], np.array([1001])]
    ours, theirs = (local.drain(given, brokers=ids)["plan"] for ids in of)
    assert ours.equals(theirs)


@pytest.mark.parametrize(
    "function,wrong,why",
    [
        (local.drain, {"brokers": 3}, "brokers: expected a list of ids, got 3"),
        (local.fill_brokers, {"brokers": ["a"]}, "brokers: expected a list of ids"),
        (local.check, {"factor": 0}, "factor: expected 1 or more, got 0"),
        (local.drain, {"name": "a/b"}, "name: expected a name of up to"),
        (local.compute_load, {"window_s": 0}, "window: expected at least 1 second"),
    ],
)
def test_a_wrong_argument_is_refused_at_once(function: Any, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        function(generate(brokers=3, topics=1, partitions=2), **wrong)


def test_only_a_plan_is_exported(tmp_path: Path) -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    found = local.drain(given, brokers=[1001])
    two = {**found, "plan": pa.concat_tables([found["plan"]] * 2)}
    keys = {name: keyed(table, "east") for name, table in found.items()}
    for wrong, why in (
        (given, "there is no table plan"),
        (two, "one plan, got 2"),
        (keys, "without the columns cluster"),
    ):
        with pytest.raises(BadInput, match=why):
            local.export(wrong, tmp_path / "out", cluster="c", snapshot="1")
    assert not (tmp_path / "out").exists()


def test_validated_rows_are_written_beside_those_collected(tmp_path: Path) -> None:
    """Also without loads. What is collected again leaves none of them."""
    given = tables([broker(1)], [partition("t", 0, [1]), partition("t", 1, [1, 1])])
    collected = {name: given[name] for name in COLLECTED}
    local.write(collected, tmp_path, cluster="c", snapshot="1")
    local.write(local.validate(collected), tmp_path, cluster="c", snapshot="1")
    assert local.read(tmp_path)["partition"].num_rows == 2
    assert local.read(tmp_path, ["partition_valid"])["partition"].num_rows == 1
    loaded = local.compute_load(local.validate(collected))
    local.write(loaded, tmp_path, cluster="c", snapshot="1")
    local.write(collected, tmp_path, cluster="c", snapshot="1")
    made = ("partition_valid", "broker_valid", "replica_load", "broker_load", "rack_load")
    assert local.read(tmp_path, made) == {}


def test_nothing_is_removed_where_another_program_wrote_a_table(tmp_path: Path) -> None:
    given = tables([broker(1)], [partition("t", 0, [1])])
    local.write(local.compute_load(local.validate(given)), tmp_path, cluster="c", snapshot="1")
    folder = tmp_path / "broker/cluster=c/snapshot=1"
    folder.mkdir(parents=True)
    (folder / "of-another.parquet").write_bytes(b"")
    with pytest.raises(BadInput, match="another program wrote table broker"):
        local.write({name: given[name] for name in COLLECTED}, tmp_path, cluster="c", snapshot="1")
    assert local.read(tmp_path, ["partition_valid"])["partition"].num_rows == 1


def test_commands_find_what_a_job_wrote_to_a_new_root(tmp_path: Path) -> None:
    found = local.compute_load(local.validate(generate(brokers=9, topics=3, partitions=4)))
    local.write(found, tmp_path, cluster="c", snapshot="1")
    of_broker = ("--brokers", "1001")
    for command in (["drain", *of_broker], ["validate"], ["list"], ["is-empty", *of_broker]):
        done = run("plan", command[0], tmp_path, *command[1:])
        assert done.exit_code in (0, 1), done.stderr
    assert not (tmp_path / "partition").exists()
