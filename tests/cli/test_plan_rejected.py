"""Bad rows of every input of a plan: reported with the reason, the run continues; exit code, output, page show it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.codec import keys, topic
from kedge.controller.model.values import Topic
from kedge.stores import ABSENT, Put, open_store
from tests.cli.plans import said
from tests.kit.commands import run

MAP: dict[str, Any] = {
    "version": 1,
    "partitions": [{"topic": "t", "partition": p, "replicas": [1 + p % 3, 1 + (p + 1) % 3]} for p in range(4)],
}
GIB = 1 << 30


def _logs(*partitions: dict[str, Any]) -> dict[str, Any]:
    dirs = [{"logDir": "/d", "error": None, "partitions": list(partitions)}]
    return {"version": 1, "brokers": [{"broker": 1, "logDirs": dirs}]}


def _log(name: str, size: int) -> dict[str, Any]:
    return {"partition": name, "size": size, "offsetLag": 0, "isFuture": False}


CAPACITY = {"DISK": "1000", "NW_IN": "1000", "NW_OUT": "1000"}
BAD: dict[str, tuple[str, str, str]] = {
    "--map": (
        "map.json",
        json.dumps({**MAP, "partitions": [*MAP["partitions"], {"topic": "t", "partition": 9, "replicas": "1"}]}),
        "replicas",
    ),
    "--broker-list": ("brokers.json", json.dumps({"1": "a", "2": "b", "3": "c", "4": 7.5}), "broker"),
    "--log-dirs": ("logs.json", json.dumps(_logs(_log("t-0", 5), _log("t-1", -5))), "size"),
    "--partition-meta": ("meta.json", json.dumps({"t": {"0": {"Size": 5.0}, "1": {"Size": -1}}}), "Size"),
    "--broker-metrics": (
        "metrics.json",
        json.dumps({"1": {"StorageFree": 7.0}, "2": {"StorageFree": None}}),
        "StorageFree",
    ),
    "--capacities": (
        "capacity.json",
        json.dumps(
            {
                "brokerCapacities": [
                    {"brokerId": "1", "capacity": CAPACITY},
                    {"brokerId": "2", "capacity": {**CAPACITY, "DISK": "-5"}},
                ]
            }
        ),
        "DISK",
    ),
    "--prometheus": ("metrics.txt", 'kafka_log_log_size{topic="t",partition="0"} -5\n', "size"),
}


def collected(tmp_path: Path, *sources: object) -> tuple[int, Any]:
    return said("collect", tmp_path / "tables", "--cluster", "c", "--snapshot", "s", *sources)


def page_of_a_plan(tmp_path: Path) -> str:
    page = tmp_path / "page.html"
    said("drain", tmp_path / "tables", "--brokers", "1", "--ignore-racks", "--report", page)
    return page.read_text()


@pytest.mark.parametrize("option", BAD)
def test_a_bad_row_of_a_file_is_rejected_and_the_run_goes_on(option: str, tmp_path: Path) -> None:
    name, content, word = BAD[option]
    (tmp_path / name).write_text(content)
    (tmp_path / "good.json").write_text(json.dumps(MAP))
    given = [option, f"1={tmp_path / name}" if option == "--prometheus" else tmp_path / name]
    code, found = collected(tmp_path, *given, *(() if option == "--map" else ("--map", tmp_path / "good.json")))
    assert (code, found["partitions"], found["written"]) == (1, 4, True)
    assert sum(found["rejected_rows"].values()) == 1
    assert word.lower() in next(iter(found["rejected_rows"])).lower()
    assert "Left out: 1 row of the snapshot, which were rejected" in page_of_a_plan(tmp_path)


def store_with_a_bad_key(tmp_path: Path) -> str:
    url = f"memory:{tmp_path / 'store'}"
    with closing(open_store(url)) as store:
        values = {
            keys.topic("t"): topic.encode(Topic("t", "A" * 22), [(1, 2), (2, 3), (3, 1)]),
            keys.topic("broken"): b"[]",
        }
        store.commit([Put(key, value, ABSENT) for key, value in values.items()], timeout_s=5)
    return url


@pytest.mark.parametrize("source", ["--store", "--tree"])
def test_a_bad_key_is_rejected_and_the_run_goes_on(tmp_path: Path, source: str) -> None:
    """Of a store, and of the dump of one, whose values may be anything."""
    url, tree = store_with_a_bad_key(tmp_path), tmp_path / "tree.json"
    assert run("store", "dump", url, tree).exit_code == 0
    code, found = collected(tmp_path, source, url if source == "--store" else tree)
    assert (code, found["partitions"], sum(found["rejected_rows"].values())) == (1, 3, 1)
    assert "Left out: 1 row of the snapshot, which were rejected" in page_of_a_plan(tmp_path)


def test_a_drain_names_rejected_partitions_and_is_not_complete(tmp_path: Path) -> None:
    twice = {"topic": "t", "partition": 9, "replicas": [3, 2, 3]}
    (tmp_path / "map.json").write_text(json.dumps({**MAP, "partitions": [*MAP["partitions"], twice]}))
    collected = run(
        "plan", "collect", tmp_path / "t", "--cluster", "c", "--snapshot", "1", "--map", tmp_path / "map.json"
    )
    assert collected.exit_code == 1
    done = run("plan", "drain", tmp_path / "t", "--brokers", "3", "--json")
    assert done.exit_code == 1
    (reason,) = json.loads(done.stdout)["reasons"]
    assert reason == "not planned, because its row was rejected: a broker stands twice among the replicas"
