"""`kedge plan collect`: files of another kind, lists of several clusters, lists that say nothing of who is alive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.controller.codec.printed import CURRENT, PROPOSED
from kedge.pipeline.tables.declared import BROKER
from kedge.pipeline.tables.files import Place
from tests.kit.data import DATA, LAYOUTS

ENTRIES = [{"topic": "t", "partition": p, "replicas": [1 + p % 3, 1 + (p + 1) % 3]} for p in range(3)]
MAP = {"version": 1, "partitions": ENTRIES}
LOGS = {"version": 1, "brokers": [{"broker": 1, "logDirs": [{"logDir": "/d", "error": None, "partitions": []}]}]}
FILES: dict[str, Any] = {
    "--map": MAP,
    "--broker-list": {"1": "a", "2": "b"},
    "--log-dirs": LOGS,
    "--partition-meta": {"t": {"0": {"Size": 1.0}}},
    "--broker-metrics": {"1": {"StorageFree": 1.0}},
    "--capacities": {"brokerCapacities": [{"brokerId": "1", "capacity": {"DISK": "1", "NW_IN": "1", "NW_OUT": "1"}}]},
}


def collect(tmp_path: Path, *more: object, cluster: str = "east", **files: Any) -> Result:
    """`files`: contents by the name of their option, `broker_list` for --broker-list."""
    given: list[object] = ["--cluster", cluster, "--snapshot", "1"]
    for name, value in files.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value))
        given += [f"--{name.replace('_', '-')}", path]
    arguments = ["plan", "collect", tmp_path / "tables", *given, *more]
    return CliRunner().invoke(kedge, [str(argument) for argument in arguments])


def brokers(tmp_path: Path, cluster: str = "east") -> dict[int, tuple[str | None, str]]:
    rows = Place(tmp_path / "tables", cluster, "1").read(BROKER).to_pylist()
    return {row["broker_id"]: (row["rack"], row["state"]) for row in rows}


def refused(tmp_path: Path, done: Result) -> str:
    """The one line of exit code 2; nothing was written."""
    assert (done.exit_code, done.stdout) == (2, "")
    assert not (tmp_path / "tables").exists()
    (line,) = done.stderr.splitlines()
    return line


def test_list_without_one_good_row_makes_no_broker_dead(tmp_path: Path) -> None:
    done = collect(tmp_path, map=MAP, broker_list={"1": {"state": "sick"}, "2": {"rack": 7.5}})
    assert done.exit_code == 1
    assert brokers(tmp_path) == dict.fromkeys((1, 2, 3), (None, "alive"))


def test_who_is_not_on_a_list_with_a_good_row_is_dead_and_whose_row_is_bad_is_not(tmp_path: Path) -> None:
    done = collect(tmp_path, map=MAP, broker_list={"1": "a", "2": {"rack": 7.5}})
    assert done.exit_code == 1
    assert brokers(tmp_path) == {1: ("a", "alive"), 2: (None, "alive"), 3: (None, "dead")}


def test_sizes_that_are_the_mean_of_their_topic_are_reported(tmp_path: Path) -> None:
    more = {**MAP, "partitions": [*ENTRIES, {"topic": "u", "partition": 0, "replicas": [1]}]}
    done = collect(tmp_path, map=more, partition_meta={"t": {"0": {"Size": 1024.0}, "2": {"Size": 3072.0}}})
    holds = (
        "holds     3 brokers, 4 partitions, 12.0 KiB, sizes of 1 estimated as the mean of their topic, "
        "sizes not known of 1"
    )
    assert (done.exit_code, done.stdout.splitlines()[1]) == (0, holds)
    whole = {"t": {str(p): {"Size": 1024.0} for p in range(3)}, "u": {"0": {"Size": 1.0}}}
    said = json.loads(collect(tmp_path, "--json", map=more, partition_meta=whole).stdout)
    assert (said["averaged"], said["unsized"]) == (0, 0)


def test_bytes_of_which_none_is_known_are_null_and_not_0(tmp_path: Path) -> None:
    """0 are the bytes of sizes that are known to be 0, and of no partition at all."""

    def told(**files: Any) -> Any:
        return json.loads(collect(tmp_path, "--json", **files).stdout)["bytes"]

    assert told(map=MAP) is None
    assert told(map=MAP, partition_meta={"t": {"0": {"Size": 0.0}}}) == 0
    assert told(map={**MAP, "partitions": []}) == 0


def test_a_number_is_a_rack_by_its_text(tmp_path: Path) -> None:
    done = collect(tmp_path, map=MAP, broker_list={"1": 7, "2": {"rack": 0}, "3": "7"})
    assert done.exit_code == 0
    assert brokers(tmp_path) == {1: ("7", "alive"), 2: ("0", "alive"), 3: ("7", "alive")}


def test_of_saved_output_the_current_assignment_is_the_snapshot(tmp_path: Path) -> None:
    """A snapshot says where the partitions are, and not where they are to go."""
    other = {"partitions": [{**entry, "replicas": [9]} for entry in ENTRIES]}
    saved = tmp_path / "saved.txt"
    saved.write_text(f"{CURRENT}\n{json.dumps(MAP)}\n\n{PROPOSED}\n{json.dumps(other)}\n")
    done = collect(tmp_path, "--map", saved)
    assert (done.exit_code, set(brokers(tmp_path))) == (0, {1, 2, 3})
    assert (
        done.stdout.splitlines()[-1]
        == f"note      {saved}: of the saved output the assignment below {CURRENT!r} is taken"
    )
    saved.write_text(f"{PROPOSED}\n{json.dumps(other)}\n")
    done = collect(tmp_path, "--map", saved)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "expected the current assignment, found the proposed one only" in done.stderr


def test_a_name_that_a_map_has_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_text('{"partitions":[{"topic":"t","partition":0,"replicas":[1],"replicas":[2]}]}')
    assert (
        refused(tmp_path, collect(tmp_path, "--map", file)) == f"kedge: {file}: 'replicas' occurs twice in one object"
    )


@pytest.mark.parametrize("name", ["--log-dirs", "--prometheus"])
def test_a_byte_order_mark_is_skipped(tmp_path: Path, name: str) -> None:
    texts = {"--log-dirs": json.dumps(LOGS), "--prometheus": 'kafka_log_log_size{topic="t",partition="0"} 5\n'}
    file = tmp_path / "marked"
    file.write_text(texts[name], encoding="utf-8-sig")
    done = collect(tmp_path, name, f"1={file}" if name == "--prometheus" else file, map=MAP)
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("named", [True, False])
def test_a_list_of_several_clusters_is_collected_by_the_name_of_one(tmp_path: Path, named: bool) -> None:
    """By that of the snapshot's cluster, or by an option where it is called otherwise there."""
    listed, racks = DATA / "clusters.json", LAYOUTS["uneven-racks"]
    entries = [{"topic": "t", "partition": 0, "replicas": list(racks)[:3]}]
    option = ("--broker-list-cluster", "uneven-racks") if named else ()
    cluster = "mine" if named else "uneven-racks"
    done = collect(tmp_path, "--broker-list", listed, *option, cluster=cluster, map={"partitions": entries})
    assert done.exit_code == 0
    assert {b: rack for b, (rack, _) in brokers(tmp_path, cluster).items()} == racks


def test_a_cluster_that_a_list_lacks_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    line = refused(tmp_path, collect(tmp_path, "--broker-list", DATA / "clusters.json", map=MAP))
    assert "expected one of its clusters (five-racks, four-racks" in line
    assert "'east'" in line


@pytest.mark.parametrize("option", FILES)
@pytest.mark.parametrize("kind", [*FILES, "text", "numbers"])
def test_a_file_of_another_kind_is_refused_and_nothing_is_written(tmp_path: Path, option: str, kind: str) -> None:
    if kind == option or (kind, option) == ("numbers", "--broker-list"):  # which are racks there
        return
    other = tmp_path / "other"
    made = {"text": "hello", "numbers": {"1": 1, "2": 2}}.get(kind) or FILES[kind]
    other.write_text(json.dumps(made))
    more: dict[str, Any] = {} if option == "--map" else {"map": MAP}
    assert str(other) in refused(tmp_path, collect(tmp_path, option, other, **more))


@pytest.mark.parametrize(
    "content,words",
    [
        ('{"a": 1}', "expected a JSON object with a list under 'partitions'; the key is missing"),
        ('{"partitions": null}', "expected a list under 'partitions', got null"),
        ('{"partitions": {}}', "expected a list under 'partitions', got an object"),
        ("[]", "expected a JSON object, got a list"),
        ("7", "expected a JSON object, got a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_the_words_of_json(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "file").write_text(content)
    assert words in refused(tmp_path, collect(tmp_path, "--map", tmp_path / "file"))
