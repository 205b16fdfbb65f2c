"""Exports: files that other tools take, a rollback per wave, and a folder that is whole or not there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kedge.pipeline.errors import BadInput
from kedge.pipeline.generating import generate
from kedge.pipeline.stages.export import export, files, plan_json, verify
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Drain, ReducePartitions, SetFactor, settings_of
from kedge.pipeline.stages.waves import WaveSettings, waves
from kedge.pipeline.tables.arrow import Arrow
from kedge.pipeline.tables.declared import PLAN, PLAN_REASON, WAVE, WAVE_MOVE, WAVE_THROTTLE

GIVEN = generate(brokers=6, topics=4, partitions=6, seed=1)


@pytest.fixture(scope="module")
def made() -> dict[str, Arrow]:
    found = plan(GIVEN, Drain((1001,)), name="p")
    more = waves({**GIVEN, **found}, "p", WaveSettings(per_broker=2))
    return {**found, **more}


def exported(made: dict[str, Arrow], folder: Path) -> dict[str, Any]:
    return export(made, folder, cluster="c", snapshot="s")


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_the_manifest_holds_size_and_digest_of_every_file(made: dict[str, Arrow], tmp_path: Path) -> None:
    manifest = exported(made, tmp_path / "out")
    (said,) = made[PLAN.name].to_pylist()
    assert {name: value for name, value in manifest.items() if name != "files"} == {
        "version": 1,
        "cluster": "c",
        "snapshot": "s",
        "plan": "p",
        "kind": "drain",
        "snapshot_sha256": said["snapshot_sha256"],
    }
    assert read(tmp_path / "out/manifest.json") == manifest
    there = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert there == {*manifest["files"], "manifest.json"}
    for path, entry in manifest["files"].items():
        data = (tmp_path / "out" / path).read_bytes()
        assert entry == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert verify(tmp_path / "out") == []


def test_plan_and_waves_are_described_by_their_rows(made: dict[str, Arrow]) -> None:
    """The settings as they were asked for; the name of the plan is in the summary alone."""
    found = files(made)
    (said,) = made[PLAN.name].to_pylist()
    assert json.loads(found["summary.json"]) == {**said, "settings": settings_of(said)}
    assert settings_of(said)["brokers"] == [1001]
    rows = made[WAVE.name].to_pylist()
    assert len(rows) > 1
    assert json.loads(found["waves.json"]) == [
        {name: value for name, value in row.items() if name != "plan"} for row in rows
    ]


def test_the_waves_together_are_the_plan_and_each_has_its_rollback(made: dict[str, Arrow], tmp_path: Path) -> None:
    exported(made, tmp_path / "out")
    whole = read(tmp_path / "out/plan.json")
    assert whole["version"] == 1
    parts, before = {}, {(r["topic"], r["partition"]): r["replicas"] for r in GIVEN["partition"].to_pylist()}
    assert read(tmp_path / "out/rollback/plan.json") == {
        "version": 1,
        "partitions": [
            {**entry, "replicas": before[entry["topic"], entry["partition"]]} for entry in whole["partitions"]
        ],
    }
    ordered = sorted((tmp_path / "out/waves").iterdir())
    assert len(ordered) > 1
    for file in ordered:
        entries = read(file)["partitions"]
        back = read(tmp_path / "out/rollback" / file.name)["partitions"]
        assert [(e["topic"], e["partition"]) for e in entries] == [(e["topic"], e["partition"]) for e in back]
        for entry in back:
            assert entry["replicas"] == before[entry["topic"], entry["partition"]]
        for entry in entries:
            before[entry["topic"], entry["partition"]] = entry["replicas"]
            parts[entry["topic"], entry["partition"]] = entry["replicas"]
    assert parts == {(e["topic"], e["partition"]): e["replicas"] for e in whole["partitions"]}


def test_throttles_name_rates_and_replicas_as_kafka_does(made: dict[str, Arrow]) -> None:
    """Every old replica may send, every new one receives. A move that only reorders copies nothing, and a side without
    a rate has no config."""
    moves = [(1, "t", 0, [1, 2, 3], [4, 2, 3]), (1, "t", 12, [5, 6], [6, 7, 8]), (1, "u", 3, [1, 2], [2, 1])]
    moves += [(2, "u", 3, [2, 1], [9]), (3, "u", 3, [9], [10])]
    rates = [(1, 1, 10, None), (1, 4, None, 20), (1, 5, 30, 40), (1, 6, None, None), (2, 9, 50, 60)]
    tables = {
        WAVE_MOVE.name: _table("wave topic partition replicas target_replicas", moves),
        WAVE_THROTTLE.name: _table("wave broker_id leader_rate_bps follower_rate_bps", rates),
    }
    found = files({**made, **tables})
    leaders, followers = "leader.replication.throttled", "follower.replication.throttled"
    assert json.loads(found["throttles/wave-0001.json"]) == {
        "version": 1,
        "brokers": {
            "1": {f"{leaders}.rate": "10"},
            "4": {f"{followers}.rate": "20"},
            "5": {f"{leaders}.rate": "30", f"{followers}.rate": "40"},
        },
        "topics": {
            "t": {f"{leaders}.replicas": "0:1,0:2,0:3,12:5,12:6", f"{followers}.replicas": "0:4,12:7,12:8"},
        },
    }
    assert json.loads(found["throttles/wave-0002.json"]) == {
        "version": 1,
        "brokers": {"9": {f"{leaders}.rate": "50", f"{followers}.rate": "60"}},
        "topics": {"u": {f"{leaders}.replicas": "3:1,3:2", f"{followers}.replicas": "3:9"}},
    }
    assert "waves/wave-0003.json" in found
    assert "throttles/wave-0003.json" not in found


def _table(names: str, rows: list[tuple[Any, ...]]) -> Arrow:
    return pa.Table.from_pylist([dict(zip(names.split(), row, strict=True)) for row in rows])


def test_directories_are_named_in_the_order_of_replicas_and_kafka_chooses_the_others() -> None:
    moves = _table("topic partition target_replicas", [("t", 0, [1, 2, 3]), ("t", 1, [2, 1])])
    assert json.loads(plan_json(moves, dirs={("t", 0, 1): "/a", ("t", 0, 3): "/c"}))["partitions"] == [
        {"topic": "t", "partition": 0, "replicas": [1, 2, 3], "log_dirs": ["/a", "any", "/c"]},
        {"topic": "t", "partition": 1, "replicas": [2, 1]},
    ]


def test_windows_and_the_page_are_in_the_export(made: dict[str, Arrow], tmp_path: Path) -> None:
    """In a folder whose parent is not there yet."""
    folder = tmp_path / "new/out"
    manifest = export(made, folder, cluster="c", snapshot="s", report="<html>", windows=("Sat 22:00-06:00",))
    assert manifest["windows"] == ["Sat 22:00-06:00"]
    assert (folder / "report.html").read_text() == "<html>"
    assert verify(folder) == []


def test_an_export_is_the_same_to_the_byte_and_replaces_the_former_one(made: dict[str, Arrow], tmp_path: Path) -> None:
    first = exported(made, tmp_path / "out")
    (tmp_path / "out/stray").write_text("x")
    assert verify(tmp_path / "out") == ["stray: the file is not in the manifest"]
    assert exported(made, tmp_path / "out") == first
    assert verify(tmp_path / "out") == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_export_is_never_replaced(made: dict[str, Arrow], tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (tmp_path / "out").write_text("mine")
    else:
        (tmp_path / "out").mkdir()
        (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(BadInput, match="no export of a plan; nothing was replaced"):
        exported(made, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_that_was_changed_or_taken_away_is_found(made: dict[str, Arrow], tmp_path: Path) -> None:
    exported(made, tmp_path / "out")
    (tmp_path / "out/plan.json").write_text("{}")
    (tmp_path / "out/waves/wave-0001.json").unlink()
    assert verify(tmp_path / "out") == [
        "waves/wave-0001.json: the file is missing",
        "plan.json: the file differs from the manifest",
    ]
    with pytest.raises(BadInput, match=r"expected an export with manifest\.json: No such file"):
        verify(tmp_path)
    for broken in ("[]", "{", '{"files": {"plan.json": {"bytes": 1}}}', "[" * 100_000):
        (tmp_path / "out/manifest.json").write_text(broken)
        with pytest.raises(BadInput, match=r"expected an export with manifest\.json that lists files"):
            verify(tmp_path / "out")


def test_former_export_is_there_again_where_the_new_one_cannot_be_put_in_its_place(
    made: dict[str, Arrow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = exported(made, tmp_path / "out")
    rename = Path.rename

    def fail(file: Path, target: Path) -> Path:
        if file.name.endswith(".new"):
            raise PermissionError(13, "no")
        return rename(file, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(PermissionError, match=str(tmp_path / "out")):
        export(made, tmp_path / "out", cluster="another", snapshot="s")
    assert read(tmp_path / "out/manifest.json") == former
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_reasons_and_reductions_have_files_where_there_are_some(tmp_path: Path) -> None:
    refused = plan(GIVEN, SetFactor(7), name="p")
    exported(refused, tmp_path / "refused")
    reasons = read(tmp_path / "refused/reasons.json")
    assert len(reasons) == 24
    assert reasons == [
        {name: value for name, value in row.items() if name != "plan"} for row in refused[PLAN_REASON.name].to_pylist()
    ]
    assert read(tmp_path / "refused/summary.json")["complete"] is False
    shrinks = plan(GIVEN, ReducePartitions(1 << 40, 1e12), name="p")
    exported(shrinks, tmp_path / "shrinks")
    assert read(tmp_path / "shrinks/reductions.json") == {
        "version": 1,
        "topics": [{"topic": f"topic-00000{i}", "total_count": 1} for i in range(4)],
    }
