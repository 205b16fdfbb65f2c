"""Log directories: what brokers report of them becomes capacities, unless a file gives others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kedge.pipeline.cautions import of_log_dirs
from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.load import load
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import BROKER, BROKER_DEFAULT, BROKER_SAMPLE, LOG_DIR, REPLICA_LOG
from tests.pipeline.snapshots import broker, partition, tables

Dir = tuple[str, int | None, int | None]
"""Path, total and usable bytes."""


def loaded(dirs: Mapping[int, Sequence[Dir]], logs: dict[str, int] | None = None, **more: Any) -> dict[str, Arrow]:
    """The loads of brokers 1 and 2 with one partition on both. `logs`: by path, the bytes of a replica on broker 1."""
    given = tables([broker(1, disk=more.pop("disk", None)), broker(2)], [partition("t", 0, [1, 2])])
    given["log_dir"] = from_rows(LOG_DIR, [(b, *one, False, None) for b, rows in dirs.items() for one in rows])
    rows = [(1, path, "t", 0, size, 0, i > 0) for i, (path, size) in enumerate((logs or {}).items())]
    given["replica_log"] = from_rows(REPLICA_LOG, rows)
    return load(given | more)


def disks(found: dict[str, Arrow]) -> dict[int, int | None]:
    return {row["broker_id"]: row["disk_capacity_bytes"] for row in found[BROKER.name].to_pylist()}


def notes(found: dict[str, Arrow]) -> list[str]:
    return of_log_dirs(found[BROKER.name].to_pylist(), found[LOG_DIR.name].to_pylist())


def test_a_capacity_is_the_sum_of_the_volumes() -> None:
    found = loaded({1: [("/a", 100, 60), ("/b", 300, 290)], 2: [("/a", 70, 70)]}, {"/a": 35})
    assert disks(found) == {1: 400, 2: 70}
    assert notes(found) == []


def test_replicas_and_what_is_moved_count_in_a_directory() -> None:
    found = loaded({1: [("/a", 100, 60), ("/b", 300, 200)]}, {"/a": 35, "/b": 20})
    sizes = {row["log_dir"]: row["size_bytes"] for row in found[LOG_DIR.name].to_pylist()}
    assert sizes == {"/a": 35, "/b": 20}


@pytest.mark.parametrize("usable, capacity", [(55, 100), (54, 89)])
def test_other_files_above_a_tenth_reduce_a_capacity(usable: int, capacity: int) -> None:
    """35 bytes are of replicas: 10 or 11 are not."""
    found = loaded({1: [("/a", 100, usable)], 2: [("/a", 50, 50)]}, {"/a": 35})
    assert disks(found) == {1: capacity, 2: 50}
    what = "other files than replicas take more than a tenth of a disk of broker 1: the capacity is what replicas take"
    assert [note.startswith(what) for note in notes(found)] == [True] * (capacity == 89)


def test_one_unreported_volume_makes_a_capacity_unknown() -> None:
    found = loaded({1: [("/a", 100, 60), ("/b", None, None)], 2: [("/a", 70, 70)]})
    assert disks(found) == {1: None, 2: 70}


def test_no_reported_volume_at_all_is_a_note() -> None:
    found = loaded({1: [("/a", None, None)], 2: [("/a", None, None)]})
    assert disks(found) == {1: None, 2: None}
    assert notes(found) == ["no disk capacity is known, neither from brokers nor from files: no limit of disks applies"]


def test_directories_that_seem_to_share_a_volume_are_a_note() -> None:
    found = loaded({1: [("/a", 100, 60), ("/b", 100, 60)], 2: [("/a", 70, 70)]}, {"/a": 35, "/b": 40})
    (note,) = notes(found)
    assert note.startswith("directories of broker 1 report the same size and the same free bytes: if they are on one")


def free(broker_id: int, free_bytes: int) -> Arrow:
    row = dict.fromkeys(BROKER_SAMPLE.names) | {"broker_id": broker_id, "disk_free_bytes": free_bytes}
    return from_rows(BROKER_SAMPLE, [list((row | {"ts": 0}).values())])


def test_every_file_replaces_a_reported_capacity() -> None:
    """The entry of the broker, its free bytes in a file, and the default of a file of capacities."""
    reported = {1: [("/a", 100, 95)], 2: [("/a", 100, 95)]}
    assert disks(loaded(reported, disk=90)) == {1: 90, 2: 100}
    assert disks(loaded(reported, broker_sample=free(1, 7))) == {1: 7, 2: 100}
    default = from_rows(BROKER_DEFAULT, [(80, None, None)])
    assert disks(loaded(reported, broker_default=default)) == {1: 80, 2: 80}
    assert notes(loaded({1: [("/a", 100, 50)], 2: [("/a", 100, 50)]}, broker_default=default)) == []


def test_negative_bytes_of_a_volume_are_refused() -> None:
    with pytest.raises(BadInput, match="table log_dir: the bytes of a volume are negative"):
        loaded({1: [("/a", 100, -5)]})
