"""Past snapshots once more with other settings: planned, cut into waves, compared; what was planned then is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.generating import generate
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, PLAN, TABLES
from kedge.pipeline.tables.files import Place
from tests.cli.plans import files, is_refused, said
from tests.kit.commands import plan as run

DAYS = ("2026-11-19", "2026-11-20", "2026-11-21")


def write(root: Path, cluster: str, snapshot: str, *, seed: int, networks: bool = True) -> None:
    for name, table in generate(brokers=6, topics=30, partitions=20, seed=seed).items():
        is_bare = name == BROKER.name and not networks
        rows = [(*list(row.values())[:-2], None, None) for row in table.to_pylist()] if is_bare else []
        Place(root, cluster, snapshot).write(TABLES[name], from_rows(BROKER, rows) if is_bare else table)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of one cluster, each with the plan and the waves of its day."""
    tables = tmp_path_factory.mktemp("made")
    for seed, day in enumerate(DAYS):
        write(tables, "east", day, seed=seed)
        assert said("rebalance", tables, "--snapshot", day)[0] == 0
        assert said("waves", tables, "--snapshot", day, "--name", "rebalance", "--throttle", "1MB")[0] == 0
    return tables


@pytest.fixture
def past(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "tables")
    return tmp_path / "tables"


@pytest.mark.slow
def test_every_snapshot_is_planned_as_it_is_when_named_alone(past: Path) -> None:
    code, again = said("rebalance", past, "--all-snapshots", "--tolerance", "0.05", "--name", "loose")
    assert (code, [row["snapshot"] for row in again["snapshots"]]) == (0, list(DAYS))
    here = files(past)
    for day, row in zip(DAYS, again["snapshots"], strict=True):
        assert said("rebalance", past, "--snapshot", day, "--tolerance", "0.05", "--name", "loose") == (0, row)
    assert files(past) == here
    assert [row["bytes_copied"] for row in again["snapshots"]] != [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "between,days",
    [
        (("--since", DAYS[1]), DAYS[1:]),
        (("--until", DAYS[1]), DAYS[:2]),
        (("--since", DAYS[1], "--until", DAYS[1]), DAYS[1:2]),
        (("--since", "2026-11", "--until", "2026-11"), DAYS),  # all of a month
    ],
    ids=["since", "until", "one", "month"],
)
def test_some_of_the_past_is_named_by_its_first_and_last(between: tuple[str, ...], days: Any, past: Path) -> None:
    for line in (("validate",), ("waves", "--name", "rebalance", "--dry-run"), ("balance-leaders", "--dry-run")):
        found = said(line[0], past, *line[1:], "--all-snapshots", *between)[1]
        assert [row["snapshot"] for row in found["snapshots"]] == list(days)
    (total,) = said("compare", past, "--name", "rebalance", *between)[1]["totals"]
    assert total["snapshots"] == len(days)


@pytest.mark.slow
def test_what_was_planned_then_is_kept(past: Path) -> None:
    """A name of its own is needed, or a dry run, which writes nothing."""
    before = files(past)
    again = ("rebalance", past, "--all-snapshots", "--tolerance", "0.05")
    assert is_refused(*again, says="--all-snapshots needs --name or --dry-run")
    assert said("rebalance", past, "--all-snapshots", "--tolerance", "0.05", "--dry-run")[0] == 0
    assert files(past) == before
    assert said("rebalance", past, "--all-snapshots", "--tolerance", "0.05", "--name", "loose")[0] == 0
    assert said("waves", past, "--all-snapshots", "--name", "loose", "--throttle", "1MB")[0] == 0
    assert before.items() < files(past).items()


@pytest.mark.slow
def test_waves_and_checks_are_made_of_every_snapshot(past: Path) -> None:
    code, cut = said("waves", past, "--all-snapshots", "--name", "rebalance", "--throttle", "1MB", "--per-broker", 1)
    assert (code, [row["snapshot"] for row in cut["snapshots"]]) == (0, list(DAYS))
    assert all(row["waves"] for row in cut["snapshots"])
    code, found = said("validate", past, "--all-snapshots", "--factor", "4")
    assert (code, [row["counts"] for row in found["snapshots"]]) == (1, [{"RF": 600}] * 3)
    lines = run("validate", past, "--all-snapshots").stdout.splitlines()
    assert lines == [line for day in DAYS for line in (f"snapshot  {day}", "found     no rule is broken")]


def test_snapshot_that_cannot_be_planned_is_reported_and_the_others_are_planned(past: Path) -> None:
    """A broker that came later is not in the past."""
    row = generate(brokers=7, topics=30, partitions=20, seed=9)
    for name, table in row.items():
        Place(past, "east", "2026-11-22").write(TABLES[name], table)
    done = run("drain", past, "--all-snapshots", "--brokers", "1007", "--name", "late", "--json")
    assert done.exit_code == 2
    assert [line.partition(": ")[0] for line in done.stderr.splitlines()] == [
        f"cluster east, snapshot {day}" for day in DAYS
    ]
    assert [one["snapshot"] for one in json.loads(done.stdout)["snapshots"]] == ["2026-11-22"]
    assert Place(past, "east", DAYS[0]).parts(PLAN) == ["rebalance"]


def test_files_beside_the_tables_are_one_per_snapshot(past: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans"
    options = ("--name", "loose", "--out", out, "--report", tmp_path / "pages")
    assert said("rebalance", past, "--all-snapshots", "--tolerance", "0.05", *options)[0] == 0
    assert sorted(files(out)) == [f"east/{day}.json" for day in DAYS]
    assert sorted(files(tmp_path / "pages")) == [f"east/{day}.html" for day in DAYS]
    assert json.loads((out / f"east/{DAYS[0]}.json").read_bytes())["partitions"]


def test_every_snapshot_of_every_cluster(past: Path) -> None:
    write(past, "west", "2026-11-20", seed=5)
    assert run("validate", past, "--all-snapshots").exit_code == 2  # of which cluster?
    code, found = said("validate", past, "--all-snapshots", "--all-clusters")
    places = [(row["cluster"], row["snapshot"]) for row in found["clusters"]]
    assert (code, places) == (0, [*(("east", day) for day in DAYS), ("west", "2026-11-20")])
    assert [
        row["snapshot"] for row in said("validate", past, "--all-snapshots", "--cluster", "west")[1]["snapshots"]
    ] == ["2026-11-20"]


def compared(past: Path) -> dict[str, Any]:
    assert said("rebalance", past, "--all-snapshots", "--tolerance", "0.05", "--name", "loose")[0] == 0
    assert said("waves", past, "--all-snapshots", "--name", "loose", "--throttle", "2MB")[0] == 0
    code, found = said("compare", past, "--name", "rebalance", "--name", "loose")
    assert code == 0
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_plans_are_compared_snapshot_by_snapshot_with_their_totals(past: Path) -> None:
    found = compared(past)
    rows = found["plans"]
    assert [(row["snapshot"], row["plan"]) for row in rows] == [
        (day, n) for day in DAYS for n in ("rebalance", "loose")
    ]
    for row in rows:
        place = Place(past, "east", row["snapshot"])
        (plan,) = place.read(PLAN, row["plan"]).to_pylist()
        waves = place.read(TABLES["wave"], row["plan"]).to_pylist()
        assert row["bytes_copied"] == plan["bytes_copied"]
        assert (row["waves"], row["eta_s"]) == (len(waves), pytest.approx(sum(wave["eta_s"] for wave in waves)))
    then, now = found["totals"]
    assert now["bytes_copied"] == sum(row["bytes_copied"] for row in rows if row["plan"] == "loose")
    assert (then["snapshots"], now["snapshots"]) == (3, 3)
    assert now["bytes_copied"] < then["bytes_copied"]
    assert now["size_max_mean_after"] > then["size_max_mean_after"]
    assert now["eta_s"] < then["eta_s"] / 2
    assert found["settings"] == {"tolerance": {"rebalance": [0.01], "loose": [0.05]}}


@pytest.mark.slow
def test_plans_of_every_cluster_are_compared(past: Path) -> None:
    """Each row names its cluster; a snapshot whose plan cannot be read is reported, the others are compared."""
    for cluster in ("west", "north"):
        shutil.copytree(past / "plan" / "cluster=east", past / "plan" / f"cluster={cluster}")
        shutil.copytree(past / "partition" / "cluster=east", past / "partition" / f"cluster={cluster}")
    every = ("compare", past, "--name", "rebalance", "--all-clusters", "--engine", "local")
    code, found = said(*every)
    assert code == 0
    assert [(row["cluster"], row["snapshot"]) for row in found["plans"]] == [
        (cluster, day) for cluster in ("east", "north", "west") for day in DAYS
    ]
    assert [total["snapshots"] for total in found["totals"]] == [9]
    assert run(*every).stdout.split()[:2] == ["cluster", "snapshot"]
    Place(past, "north", DAYS[1]).path(PLAN, "rebalance").write_bytes(b"no table")
    broken = run(*every, "--json")
    assert (broken.exit_code, len(json.loads(broken.stdout)["plans"])) == (2, 8)
    assert broken.stderr.startswith(f"cluster north, snapshot {DAYS[1]}: ")


@pytest.mark.slow
def test_what_people_read_of_a_comparison(past: Path) -> None:
    compared(past)
    lines = run("compare", past, "--name", "rebalance", "--name", "loose").stdout.splitlines()
    assert lines[0].split()[:5] == ["snapshot", "plan", "partitions", "copies", "bound"]
    assert [line.split()[:2] for line in lines[1:7]] == [[day, n] for day in DAYS for n in ("rebalance", "loose")]
    assert [line.split()[:3] for line in lines[7:9]] == [["3", "snapshots", "rebalance"], ["3", "snapshots", "loose"]]
    assert lines[9:] == ["tolerance  rebalance: 0.01; loose: 0.05"]


def test_a_plan_without_waves_or_rates_has_no_time(past: Path) -> None:
    write(past, "west", "1", seed=5, networks=False)
    west = ("--cluster", "west", "--name", "rebalance")
    said("rebalance", past, *west)
    (bare,) = said("compare", past, *west)[1]["plans"]
    assert (bare["waves"], bare["eta_s"]) == (None, None)
    said("waves", past, *west)
    (unlimited,) = said("compare", past, *west, "--snapshot", "1")[1]["plans"]
    assert (unlimited["waves"] > 0, unlimited["eta_s"]) == (True, None)
