"""`kedge plan forget`: whole snapshots that are old are deleted, and others are not touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest

from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import PARTITION, SNAPSHOT_TIME
from kedge.pipeline.tables.files import PART, Place
from kedge.pipeline.tables.schema import Table
from kedge.pipeline.verbs.forget import Forget, taken_at
from kedge.pipeline.verbs.verb import unheard
from tests.cli.plans import files, is_refused, put, said
from tests.kit.commands import plan as run

TODAY = datetime.now(UTC)


def day(days_ago: int, form: str = "%Y-%m-%d") -> str:
    return f"{TODAY - timedelta(days=days_ago):{form}}"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Snapshots of two clusters, the newest of which are old as well; the oldest one has a plan."""
    tables = tmp_path / "tables"
    for days_ago in (200, 100, 80, 70):
        put(tables, "east", day(days_ago))
    put(tables, "west", day(200))
    assert said("balance-leaders", tables, "--cluster", "east", "--snapshot", day(200))[0] == 0
    return tables


def snapshots(tables: Path) -> set[str]:
    return {path.name for path in tables.glob("*/*/snapshot=*")}


def test_old_snapshots_are_deleted_as_a_whole_except_the_newest(made: Path) -> None:
    rest = {path: data for path, data in files(made).items() if f"east/snapshot={day(200)}" not in path}
    code, found = said("forget", made, "--all-clusters", "--older-than", "150d", "--engine", "local")
    assert (code, [(row["cluster"], row["snapshot"]) for row in found["clusters"]]) == (0, [("east", day(200))])
    assert found["clusters"][0]["plans"] == ["balance-leaders"]
    assert files(made) == rest, "west has one snapshot alone"
    assert not [*made.glob(f"*/cluster=east/snapshot={day(200)}")]
    said("forget", made, "--cluster", "east", "--older-than", "1d")
    assert snapshots(made) == {f"snapshot={day(days_ago)}" for days_ago in (70, 200)}


def test_dry_run_lists_them_and_deletes_nothing(made: Path) -> None:
    before = files(made)
    done = run("forget", made, "--cluster", "east", "--older-than", "90d", "--dry-run")
    assert (done.exit_code, done.stderr, files(made)) == (0, "", before)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines == [
        ["snapshot", day(200)], ["to", "delete", "with", "1", "plan"],
        ["snapshot", day(100)], ["to", "delete", "with", "0", "plans"],
    ]  # fmt: skip
    done = run("forget", made, "--cluster", "east", "--older-than", "300d")
    assert (done.exit_code, done.stdout) == (0, "no snapshot is older than 300 d\n")


def test_plans_are_kept_while_partitions_are_being_reassigned(made: Path) -> None:
    newest = Place(made, "east", day(70))
    rows = newest.read(PARTITION).to_pylist()
    rows[0]["target_replicas"] = [1001]
    newest.write(PARTITION, from_rows(PARTITION, [list(row.values()) for row in rows]))
    _, found = said("forget", made, "--cluster", "east", "--older-than", "90d")
    assert [row["snapshot"] for row in found["snapshots"]] == [day(100)]


class Interrupted(Exception):
    pass


@attrs.frozen
class Cut(Place):
    """Its process ends at the removal of one of its tables."""

    before: str = ""

    def remove(self, table: Table, part: str = PART) -> None:
        if table.name == self.before:
            raise Interrupted
        super().remove(table, part)


@pytest.mark.parametrize("before", ["partition", "snapshot_time", "plan", "broker"])
def test_forget_that_was_interrupted_is_completed(made: Path, before: str) -> None:
    """Whether its id has a date or not: its partitions and its time are deleted last."""
    for snapshot, days_ago in ((day(70), 70), (day(200), 200), ("monday", 200)):
        time = from_rows(SNAPSHOT_TIME, [(TODAY - timedelta(days=days_ago),)])
        Place(made, "east", snapshot).write(SNAPSHOT_TIME, time)
    for snapshot in (day(200), "monday"):
        put(made, "east", snapshot)
        said("balance-leaders", made, "--cluster", "east", "--snapshot", snapshot)
        with pytest.raises(Interrupted):
            Forget().run(Cut(made, "east", snapshot, before), {}, unheard)
        said("forget", made, "--cluster", "east", "--older-than", "150d")
        assert not [*made.glob(f"*/cluster=east/snapshot={snapshot}")]


@pytest.mark.parametrize("age,hint", [("90", "1 min 30 s; did you mean 90d?"), ("23h", "23 h")])
def test_an_age_below_a_day_is_refused(made: Path, age: str, hint: str) -> None:
    before = files(made)
    assert is_refused("forget", made, "--cluster", "east", "--older-than", age, says=f"at least a day, got {hint}")
    assert is_refused("forget", made, "--older-than", "90d", says="give --cluster with one of east, west, or --all-clu")
    assert files(made) == before


@pytest.mark.parametrize(
    "snapshot,taken",
    [
        ("2026-11-19", datetime(2026, 11, 20, tzinfo=UTC)),  # the whole day counts
        ("20261119T03", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-19-night", datetime(2026, 11, 20, tzinfo=UTC)),
    ],
)
def test_an_id_that_begins_with_a_date_has_its_age(tmp_path: Path, snapshot: str, taken: datetime) -> None:
    assert taken_at(Place(tmp_path, "east", snapshot)) == taken


@pytest.mark.parametrize(
    "snapshot", ["monday", "7", "2026-13-45", "2026-1119", "2026111903", "1732104000", "2026-11-19"]
)
def test_an_id_has_the_age_at_which_it_was_taken(tmp_path: Path, snapshot: str) -> None:
    """Which is not known of tables of other programs, unless their ids are dates."""
    place, then = Place(tmp_path, "east", snapshot), datetime(2026, 11, 21, tzinfo=UTC)
    assert (taken_at(place) is None) == (snapshot != "2026-11-19")
    place.write(SNAPSHOT_TIME, from_rows(SNAPSHOT_TIME, [(then,)]))
    assert taken_at(place) == then
