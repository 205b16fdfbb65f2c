"""Capacities of brokers: the default of Cruise Control's file, what other files say, and what no file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.tables.declared import BROKER_VALID
from kedge.pipeline.tables.files import Place
from tests.kit.commands import plan as run

MIB = 2**20
EVERY = {"brokerId": "-1", "capacity": {"DISK": "1000000", "NW_IN": "1000", "NW_OUT": "2000"}}
OWN = {"brokerId": "1", "capacity": {"DISK": "7000000", "NW_IN": "3000", "NW_OUT": "4000"}}


def collect(tmp_path: Path, partition_bytes: float = 1e12, **files: Any) -> Any:
    """Eight partitions on brokers 0 and 1, one replica each. Returns what --json prints."""
    entries = [{"topic": "t", "partition": p, "replicas": [p % 2]} for p in range(8)]
    meta = {"t": {str(p): {"Size": partition_bytes} for p in range(8)}}
    arguments: list[object] = ["collect", tmp_path / "tables", "--cluster", "c", "--snapshot", "1", "--json"]
    for name, content in {"map": {"partitions": entries}, "partition_meta": meta, **files}.items():
        (tmp_path / name).write_text(json.dumps(content))
        arguments += [f"--{name.replace('_', '-')}", tmp_path / name]
    done = run(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


def disks(tmp_path: Path) -> dict[int, int | None]:
    rows = Place(tmp_path / "tables", "c", "1").read(BROKER_VALID).to_pylist()
    return {row["broker_id"]: row["disk_capacity_bytes"] for row in rows}


@pytest.mark.slow
def test_the_default_limits_the_disk_of_an_added_broker(tmp_path: Path) -> None:
    collect(tmp_path, capacities={"brokerCapacities": [EVERY]})
    done = run("fill-brokers", tmp_path / "tables", "--new-brokers", "2", "--json")
    planned = json.loads(done.stdout)
    assert (done.exit_code, planned["bytes_copied"], planned["notes"]) == (1, 0, [])
    assert list(planned["reasons"]) == ["no broker in the possible racks has enough disk"]


@pytest.mark.slow
def test_the_default_limits_the_network_of_an_added_broker(tmp_path: Path) -> None:
    collect(tmp_path, 1e9, capacities={"brokerCapacities": [EVERY]})
    assert run("fill-brokers", tmp_path / "tables", "--new-brokers", "2").exit_code in {0, 1}
    said = json.loads(run("waves", tmp_path / "tables", "--name", "fill-brokers", "--json").stdout)
    assert [wave["eta_s"] is None for wave in said["waves"]] == [False]
    assert run("export", tmp_path / "tables", tmp_path / "out", "--name", "fill-brokers").exit_code == 0
    (throttle,) = (tmp_path / "out" / "throttles").iterdir()
    assert json.loads(throttle.read_text())["brokers"]["2"] == {"follower.replication.throttled.rate": "819200"}


def test_the_default_replaces_nothing_that_another_file_says(tmp_path: Path) -> None:
    """A list of brokers, the file's own entry, and free disk space."""
    meta = {"1": {"StorageFree": 5.0}}
    listed = {"0": {"disk_capacity_bytes": 9_000_000_000_000}, "1": None, "3": None}
    collect(tmp_path, 1000, broker_list=listed, broker_metrics=meta, capacities={"brokerCapacities": [EVERY]})
    assert disks(tmp_path) == {0: 9_000_000_000_000, 1: 4005, 3: 1_000_000 * MIB}
    assert run("compute-load", tmp_path / "tables").exit_code == 0
    assert disks(tmp_path)[1] == 4005
    collect(tmp_path, 1000, broker_list=listed, broker_metrics=meta, capacities={"brokerCapacities": [EVERY, OWN]})
    assert disks(tmp_path) == {0: 9_000_000_000_000, 1: 7_000_000 * MIB, 3: 1_000_000 * MIB}


@pytest.mark.slow
def test_a_snapshot_that_is_collected_again_without_a_default_has_none(tmp_path: Path) -> None:
    collect(tmp_path, capacities={"brokerCapacities": [EVERY]})
    collect(tmp_path, 1e9)
    assert disks(tmp_path) == {0: None, 1: None}
    planned = json.loads(run("fill-brokers", tmp_path / "tables", "--new-brokers", "2", "--json").stdout)
    assert (planned["bytes_copied"] > 0, planned["notes"]) == (True, [])


@pytest.mark.parametrize("verb", ["collect", "validate", "fill-brokers", "waves"])
def test_a_capacity_that_is_not_known_while_others_are_is_a_note(tmp_path: Path, verb: str) -> None:
    known = {"disk_capacity_bytes": 10**12, "nw_in_capacity_bps": 1e6, "nw_out_capacity_bps": 1e6}
    said = collect(tmp_path, 1e9, broker_list={"0": known, "1": known, "4": {**known, "disk_capacity_bytes": None}})
    note = "the disk capacity of broker 4 is not known, that of others is: no limit applies there"
    if verb == "validate":
        said = json.loads(run("validate", tmp_path / "tables", "--json").stdout)
    if verb in {"fill-brokers", "waves"}:
        said = json.loads(
            run("fill-brokers", tmp_path / "tables", "--new-brokers", "4", "--report", tmp_path / "p", "--json").stdout
        )
        assert note in (tmp_path / "p").read_text()
    if verb == "waves":
        said = json.loads(run("waves", tmp_path / "tables", "--name", "fill-brokers", "--json").stdout)
    assert note in said["notes"]
    assert len(said["notes"]) == (2 if verb in {"validate", "waves"} else 1)  # there of the rates, too


def test_an_added_broker_without_any_capacity_is_a_note(tmp_path: Path) -> None:
    collect(tmp_path, 1e9, capacities={"brokerCapacities": [{**OWN, "brokerId": str(broker)} for broker in (0, 1)]})
    planned = json.loads(run("fill-brokers", tmp_path / "tables", "--new-brokers", "2", "--json").stdout)
    assert planned["notes"] == [
        f"the {what} capacity of broker 2 is not known, that of others is: no limit applies there"
        for what in ("disk", "receiving", "sending")
    ]
    said = json.loads(run("waves", tmp_path / "tables", "--name", "fill-brokers", "--throttle", "5MB", "--json").stdout)
    assert [note in said["notes"] for note in planned["notes"]] == [True, False, False]  # the rates were given


GIB = 2**30
UNEQUAL = {"0": {"disk_capacity_bytes": 400 * GIB}, "1": {"disk_capacity_bytes": 40 * GIB}}
BY_BROKER = (
    "bytes are levelled by broker, not by disk, because the disk of broker 2 is not known: "
    "afterwards broker 0 (400.0 GiB) is 5.6% full, and broker 1 (40.0 GiB) is 56.2% full"
)


def test_equal_bytes_on_unequal_disks_are_a_note_with_figures(tmp_path: Path) -> None:
    """Eight partitions of 7.5 GiB on two brokers, the third of which no disk is known."""
    collect(tmp_path, 7.5 * GIB, broker_list=UNEQUAL)
    line = ("fill-brokers", tmp_path / "tables", "--new-brokers", "2", "--tolerance", "0.2")
    planned = json.loads(run(*line, "--report", tmp_path / "page.html", "--json").stdout)
    assert planned["notes"][1:] == [BY_BROKER]
    assert BY_BROKER in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("third", [40 * GIB, None], ids=["known", "drained"])
def test_bytes_levelled_by_disks_are_no_note(tmp_path: Path, third: int | None) -> None:
    """A disk that is unknown says nothing if its broker is emptied."""
    collect(tmp_path, 7.5 * GIB, broker_list=UNEQUAL | {"2": {"disk_capacity_bytes": third}})
    line = (
        ("fill-brokers", tmp_path / "tables", "--new-brokers", "2")
        if third
        else ("drain", tmp_path / "tables", "--brokers", "2")
    )
    notes = json.loads(run(*line, "--json").stdout)["notes"]
    assert not [note for note in notes if "levelled by broker" in note]


RACKS = {str(broker): "abc"[(broker - 1) // 3] for broker in range(1, 8)}


def spread(tmp_path: Path, racks: dict[str, str], *options: object) -> Any:
    """60 partitions with one replica, from which a plan makes three."""
    entries = [{"topic": "t", "partition": p, "replicas": [1 + p % 3]} for p in range(60)]
    for name, content in (("map", {"partitions": entries}), ("racks", racks)):
        (tmp_path / name).write_text(json.dumps(content))
    where = ("--cluster", "c", "--snapshot", "1")
    done = run("collect", tmp_path / "tables", *where, "--map", tmp_path / "map", "--broker-list", tmp_path / "racks")
    assert done.exit_code == 0
    page = ("--report", tmp_path / "page.html")
    return json.loads(
        run("set-replication-factor", tmp_path / "tables", "--factor", "3", *page, *options, "--json").stdout
    )["notes"]


def test_a_small_rack_that_gets_most_replicas_is_a_note_with_figures(tmp_path: Path) -> None:
    _, note = spread(tmp_path, RACKS)
    words = "rack c has only broker 7, with 60 replicas; a broker of the larger racks has 20: racks of equal size share"
    assert note.startswith(words)
    assert words in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("racks", [RACKS | {"8": "c", "9": "c"}, dict.fromkeys(RACKS, "")])
def test_even_racks_and_no_racks_are_no_note(tmp_path: Path, racks: dict[str, str]) -> None:
    assert len(spread(tmp_path, racks)) == 1  # of the sizes, which no file says


def test_racks_that_are_ignored_are_no_note(tmp_path: Path) -> None:
    assert len(spread(tmp_path, RACKS, "--ignore-racks")) == 1
