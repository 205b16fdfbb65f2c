"""Collecting as a function: a snapshot as tables, from a store or files, and a plan as it was written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline import WaveSettings, generate, local, verify
from kedge.pipeline.errors import BadInput
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import SNAPSHOT_TIME
from kedge.rig import Rig

MAP = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    file = tmp_path / "map.json"
    file.write_text(MAP)
    return file


def test_a_store_is_collected_by_its_url(tmp_path: Path) -> None:
    rig = Rig(brokers={1: "a", 2: "b"})
    rig.create_topic("orders", replicas=[[1, 2]])
    rig.server.save(tmp_path / "store.json")
    before = datetime.now(UTC)
    found = local.collect(store=f"memory:{tmp_path}/store.json")
    assert found["partition"].select(["topic", "replicas"]).to_pylist() == [{"topic": "orders", "replicas": [1, 2]}]
    assert before <= found["snapshot_time"]["taken_at"][0].as_py() <= datetime.now(UTC)
    assert local.compute_load(local.validate(found))["replica_load"].num_rows == 1


def test_files_are_collected_by_their_kind(layout: Path, tmp_path: Path) -> None:
    brokers = tmp_path / "racks.json"
    brokers.write_text('{"clusters": {"east": {"1": "a", "2": "b"}, "west": {"1": "c"}}}')
    sizes = tmp_path / "metrics.txt"
    sizes.write_text('kafka_log_log_size{topic="t",partition="0"} 70\n')
    files: dict[str, Any] = {"map": [layout], "broker-list": [brokers], "prometheus": [f"1={sizes}"]}
    found = local.collect(files=files, broker_list_cluster="east")
    assert found["broker"].select(["broker_id", "rack"]).to_pylist() == [
        {"broker_id": 1, "rack": "a"},
        {"broker_id": 2, "rack": "b"},
    ]
    assert found["replica_log"].select(["broker_id", "size_bytes"]).to_pylist() == [{"broker_id": 1, "size_bytes": 70}]


def test_sources_that_cannot_be_used_are_refused(layout: Path, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "exactly one of bootstrap_servers, store, and files of the kind tree or map"),
        ({"store": "memory:x", "files": {"map": [layout]}}, "exactly one of"),
        ({"files": {"map": [layout], "maps": [layout]}}, "unknown kinds of files maps; there are tree, map,"),
        ({"files": {"map": [layout]}, "config_file": "x"}, "config_file needs bootstrap_servers"),
        ({"files": {"map": [layout], "prometheus": ["x=file"]}}, "prometheus 'x=file': expected FILE or ID=FILE"),
        ({"store": f"memory:{tmp_path}/none"}, "none: cannot be read: "),
        ({"store": "sqlite:x"}, "a store url must begin with one of"),
    ]
    for sources, why in wrong:
        with pytest.raises(BadInput, match=why):
            local.collect(**sources)


def test_written_plan_is_read_back_for_export(tmp_path: Path) -> None:
    given = generate(brokers=9, topics=3, partitions=4)
    planned = local.drain(local.compute_load(local.validate(given)), brokers=[1001])
    local.write(local.waves(planned, WaveSettings(throttle_bps=1e6)), tmp_path / "tables", cluster="c", snapshot="1")
    found = local.read(tmp_path / "tables", plan="drain")
    manifest = local.export(found, tmp_path / "out", cluster="c", snapshot="1")
    assert verify(tmp_path / "out") == []
    assert {"plan.json", "waves/wave-0001.json"} <= manifest["files"].keys()


def test_the_time_of_a_snapshot_is_written_with_its_loads(tmp_path: Path) -> None:
    times = from_rows(SNAPSHOT_TIME, [(datetime(2026, 11, 28, tzinfo=UTC),)])
    found = local.compute_load(local.validate({**generate(brokers=3, topics=1, partitions=2), "snapshot_time": times}))
    local.write(found, tmp_path, cluster="c", snapshot="1")
    assert local.read(tmp_path, ["snapshot_time"], plan="any")["snapshot_time"].equals(times)
