"""Every benchmark runs at a tiny size in each value of the conditions that it can vary."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from struct import calcsize

import pytest

from benchmarks.__main__ import ANYWHERE, BETWEEN, HERE, main
from benchmarks.cluster import QuietHost, named, register
from benchmarks.conditions import FIXED, Conditions
from benchmarks.driven import Driven
from benchmarks.hosts import encoded
from benchmarks.place import place
from kedge import WrongMode
from kedge.controller.model.host import PartitionMetadata

SIZES: dict[str, dict[str, object]] = {
    "alter": {"ROUNDS": 3},
    "audit": {"LINES": 10_000},
    "bounce": {"TOPICS": 20},
    "death": {"TOPICS": 20},
    "fixture": {"STARTS": 2, "SERVERS": 1, "IMPORTS": 1},
    "groups": {"GROUPS": 5, "COMMITS": 100, "IN_FLIGHT": 50},
    "hostile": {"PART": 1000, "WARM_S": 0, "QUIET_S": 1, "ATTACK_S": 1, "BACK_S": 1},
    "isr": {"PER_THREAD": 40, "CHANGED": 20, "UNDER_WAY": 10, "ONE_BY_ONE": 20, "SMALL": 10, "LARGE": 20},
    "listing": {"MOVES": 100, "ROUNDS": 2},
    "load": {"TOPICS": 20},
    "memory": {"TOPICS": 5, "PARTITIONS": 10},
    "metrics": {"TOPICS": 10, "MOVES": 50, "ROUNDS": 2, "ROWS": 100, "LOOKS": 2},
    "migrate": {"TOPICS": 10},
    "moves": {"TOPICS": 20, "MOVES": 50},
    "plan": {"SIZES": ((30, 5),)},
    "planning": {"SIZES": ((30, 5),), "FLEET": (2, 30, 5)},
    "produce": {"MOVES": 10, "RECORDS": 100},
    "reads": {"TOPICS": 20, "COMMITS": 3, "FEW": 20},
    "reduce": {"BEFORE": 100},
    "removal": {"TOPICS": 8, "PARTITIONS": 5},
    "samples": {"TOPICS": 2, "TIMES": 5},
    "throttle": {"TOPICS": 10, "MOVES": 20, "ROUNDS": 2},
    "wire": {"TOPICS": 12, "PARTITIONS": 10, "AT_ONCE": 2, "CONNECTIONS": 2, "REQUESTS": 20, "MOVES": 20},
}
HEADLINE: tuple[Conditions, list[str]] = (Conditions(), [])
OTHER = (
    Conditions("planted", "polled", "dropping", "on"),
    ["--content=planted", "--driver=polled", "--host=dropping", "--journal"],
)
SLOW = {"audit", "fixture", "hostile", "plan", "produce", "samples"}  # processes
SERVERS = {"planning", "wire"}  # a JVM


def _cases() -> list[object]:
    marks = {name: [pytest.mark.full] for name in SLOW | SERVERS}
    for name in SERVERS:
        marks[name].append(pytest.mark.server)
    return [
        pytest.param(name, *asked, marks=marks.get(name, ()), id=f"{name}-{asked[0].content}")
        for name in SIZES
        for asked in (HEADLINE, OTHER)
        if asked is HEADLINE or len(FIXED.get(name, ())) < 4
    ]


def test_every_benchmark_is_among_them() -> None:
    assert set(SIZES) == {*HERE, *ANYWHERE, *BETWEEN}
    assert set(FIXED) <= set(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("name,conditions,options", _cases())
def test_a_benchmark_runs_and_its_lines_name_the_conditions(
    name: str,
    conditions: Conditions,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = import_module(f"benchmarks.{name}")
    for constant, size in SIZES[name].items():
        monkeypatch.setattr(module, constant, size)
    monkeypatch.setenv("KEDGE_SPARK", "0")  # audits there have tests of their own
    assert main([name, *options]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    before, *figures, after = lines
    assert before["what"].startswith("yardstick")
    assert after["what"].startswith("yardstick")
    assert figures
    for line in lines:
        assert {key: line[key] for key in ("content", "driver", "host", "journal")} == {
            key: FIXED.get(name, {}).get(key, getattr(conditions, key))
            for key in ("content", "driver", "host", "journal")
        }
        assert line.get("fixed", []) == list(FIXED.get(name, ()))
        assert {"optimised", "from"} == set(line["build"])


@contextmanager
def driven_under(conditions: Conditions) -> Iterator[Driven]:
    """A controller of a few partitions, with every broker up to date."""
    with place("memory", None, conditions) as where:
        where.fill(5, 4, 3)
        store = where.open()
        driven = where.driven(store, QuietHost())
        register(driven.controller, named(store))
        driven.settle()
        yield driven


@pytest.mark.parametrize("driver", ["threads", "polled"])
def test_the_controller_is_driven_as_asked(driver: str) -> None:
    with driven_under(Conditions(driver=driver)) as driven:
        assert driven.host.updated == set(driven.controller.broker_epochs)
        with pytest.raises(WrongMode) if driver == "threads" else nullcontext():
            driven.controller.poll_once()


@pytest.mark.parametrize("journal", ["on", "off"])
def test_a_journal_is_written_where_it_is_on(journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with driven_under(Conditions(journal=journal)):
        assert any(path.stat().st_size for path in tmp_path.rglob("*.jsonl*")) is (journal == "on")


@pytest.mark.parametrize("host", ["encoding", "dropping"])
def test_the_host_encodes_where_it_is_asked_to(host: str) -> None:
    with driven_under(Conditions(host=host)) as driven:
        assert bool(driven.host.encoded_bytes) is (host == "encoding")


def test_an_encoding_host_makes_a_struct_of_each_partition() -> None:
    told = PartitionMetadata("t", "i" * 22, 3, 1, 5, (1, 2), 7, (1, 2, 3), (), 0)
    assert len(encoded([told, told])) == 2 * calcsize(">6i5i")


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["load", "--set", "LOADS=1"], "load has no size LOADS\n"),
        (["load", "--set", "TOPICS=few"], "NAME=N with a number N, not TOPICS=few\n"),
        (["plan", "--store", "etcd"], "measured on the memory store only: plan\n"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(str(ended.code))
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err.endswith(said)
    assert not captured.out


@pytest.mark.slow
def test_both_contents_are_taken_one_after_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "--content=both", "--set=TOPICS=20"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["content"] for line in lines] == ["planted"] * 4 + ["realistic"] * 4
    assert {line["n"] for line in lines if "failover" in line["what"]} == {200}
    assert all(line["set"] == {"TOPICS": 20} for line in lines)
