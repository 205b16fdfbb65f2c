"""Progress by the journal: moves, what is stuck and why, the series, predictions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.pipeline.journal.files import read_part, whole_part
from kedge.pipeline.journal.lines import Event
from kedge.pipeline.journal.parquet import write_audits, write_progress
from kedge.pipeline.progress import BadSamples, Progress, Samples, progress, read_samples
from kedge.pipeline.progress.conclusions import STUCK_MS, calibrate, causes_of, conclude
from kedge.pipeline.progress.moves import WorldOf
from kedge.pipeline.progress.values import Told, World
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, REPLICA_LOAD, REPLICA_LOG
from kedge.pipeline.tables.files import Place
from tests.pipeline_journal.journals import Row, a_move, append, find, throttled, write, written

LED = World((), (), is_led=True, last_ts_ms=10_000_000)


def told(folder: Path, rows: list[Row], stuck_ms: int = STUCK_MS) -> Progress:
    return progress(write(folder, rows), stuck_ms=stuck_ms)


def rates(events: list[Event]) -> dict[int, float]:
    """Of brokers, after these events."""
    world = WorldOf()
    for event in events:
        world.feed(event)
    return dict(world.world().rates_bps)


def cut_at(rows: list[Row], event: str, nth: int = 0, **fields: object) -> list[Row]:
    """The rows up to the commit of the nth row of an event."""
    last = rows[find(rows, event, nth, **fields)]
    return [row for row in rows if row["seq"] <= last["seq"]]


def test_moves_are_shown_from_their_request_to_their_end_over_a_failover(tmp_path: Path) -> None:
    """The second move of orders-0 begins in one term and ends in the next: it is one move."""
    moves = told(tmp_path, written()).moves
    assert [(m.topic, m.partition, m.ended, m.target) for m in moves] == [
        ("orders", 0, "completed", (4, 5, 6)),
        ("payments", 1, "completed", (1, 5, 6)),
        ("orders", 0, "completed", (1, 2, 3)),
    ]
    assert all(m.ended_ms is not None and m.ended_ms > m.started_ms for m in moves)
    assert moves[2].controller_epoch == 1


def test_of_a_move_that_runs_it_is_said_who_joined_and_who_is_waited_for(tmp_path: Path) -> None:
    (running,) = [
        m for m in told(tmp_path, cut_at(written(), "ReplicasGrown", topic="orders")).moves if m.topic == "orders"
    ]
    assert running.ended is None
    assert running.joined == 1
    assert running.last_ms > running.started_ms
    assert set(running.adding) == {4, 5, 6}
    assert len(running.waiting_on) == 2


def test_move_that_a_takeover_does_not_list_ended_without_a_record(tmp_path: Path) -> None:
    rows = written()
    second = rows[find(rows, "Takeover", 1)]
    assert second["detail"]["moves"]
    second["detail"]["moves"] = []
    rows = [row for row in rows if row["epoch"] == 1 or row["event"] == "Takeover"]
    assert told(tmp_path, rows).moves[-1].ended == "not told"


def test_a_move_without_a_step_forward_is_stuck_and_says_why(tmp_path: Path) -> None:
    rows = cut_at(written(), "TargetSet", topic="orders")
    append(rows, {"event": "BrokerLeft", "broker": 5, "detail": {"broker_epoch": 1}})
    append(rows, {"event": "KeysRewritten"}, later_ms=700_000)
    stuck = {(s.topic, s.partition): s for s in told(tmp_path, rows).stuck}
    assert stuck["orders", 0].causes == ("target down",)
    assert stuck["orders", 0].still_ms >= 700_000
    assert told(tmp_path, rows, stuck_ms=10**9).stuck == ()


@pytest.mark.parametrize(
    "world,samples,changes,cause",
    [
        (World((), (), is_led=False, last_ts_ms=0), Samples(), {}, "no controller"),
        (World((3,), (), is_led=True, last_ts_ms=0), Samples(), {}, "target down"),
        (World((1,), (), is_led=True, last_ts_ms=0), Samples(), {}, "source down"),
        (LED, Samples(), {"leader": -1}, "source down"),
        (LED, Samples(), {"isr_losses": 3}, "isr flapping"),
        (LED._replace(rates_bps=((3, 100.0),)), Samples(write_bps={("t", 0): 100.0}), {}, "throttle below ingest"),
        (LED, Samples(disk_bytes={3: 100}, used_bytes={3: 96}), {}, "disk full"),
    ],
)
def test_each_cause_is_reported_where_it_shows(
    world: World, samples: Samples, changes: dict[str, int], cause: str
) -> None:
    assert list(causes_of(a_move(**changes), world, samples)) == [cause]


def test_all_causes_of_a_move_are_reported() -> None:
    world = World((1, 3), (), is_led=False, last_ts_ms=0)
    causes = ["no controller", "target down", "source down", "isr flapping"]
    assert list(causes_of(a_move(isr_losses=3), world, Samples())) == causes


def test_rates_of_brokers_are_the_present_ones_of_any_writer(tmp_path: Path) -> None:
    """In the end what an operator set, and a throttle that is to stay; in the middle the throttle of the moves."""
    rows = throttled()
    events = [event for file in write(tmp_path, rows) for event in read_part(whole_part(file))]
    assert rates(events) == {1: 777_000.0, 2: 555_000.0, 6: 50_000.0}
    until = find(rows, "TargetSet") + 1
    assert rates(events[:until]) == dict.fromkeys(range(1, 7), 100_000.0)


def test_where_no_cause_shows_it_is_unknown() -> None:
    (stuck,) = conclude([Told(a_move(), ((0, 1),))], LED, Samples()).stuck
    assert stuck.causes == ("unknown",)


def test_the_series_counts_a_partition_at_its_leader_and_spreads_all_bytes() -> None:
    """KIP-352: after the leader changed it counts there; what was copied in is the sum, and came from some broker."""
    ended = a_move(ended="completed", ended_ms=10_000, bytes_copied=1_001, adding=(3, 4))
    found = conclude([Told(ended, ((0, 1), (5_500, 2)))], LED, Samples())
    counted = {(one.ts_ms // found.step_ms, one.broker_id) for one in found.series if one.reassigning_partitions}
    assert {broker for _, broker in counted} == {1, 2}
    assert sum(one.bytes_in for one in found.series) == sum(one.bytes_out for one in found.series) == 1_001
    assert {one.broker_id for one in found.series if one.bytes_in} == {3, 4}


def test_a_prediction_knows_only_moves_that_had_ended() -> None:
    done = [a_move(partition=n, started_ms=0, ended_ms=1_000, ended="completed", bytes_copied=100) for n in range(3)]
    late = a_move(partition=9, started_ms=2_000, ended_ms=4_000, ended="completed", bytes_copied=100)
    runs = a_move(partition=10, started_ms=5_000, bytes_total=200)
    calibration, moves = calibrate([*done, late, runs])
    assert [(c.partition, c.basis, c.predicted_ms, c.real_ms, c.ratio) for c in calibration] == [
        (9, "bytes", 1_000, 2_000, 2.0)
    ]
    assert moves[-1].eta_ms == 5_000 + 2_000


def test_without_sizes_a_prediction_is_the_median_of_durations() -> None:
    done = [a_move(partition=n, ended_ms=ms, ended="completed") for n, ms in enumerate((1_000, 3_000, 9_000))]
    _, moves = calibrate([*done, a_move(partition=10, started_ms=10_000)])
    assert moves[-1].eta_ms == 13_000


def samples_in(folder: Path) -> Path:
    tables = {
        "replica_log": {"broker_id": [1, 2, 3], "topic": ["t"] * 3, "partition": [0] * 3, "size_bytes": [100, 100, 25]},
        "partition": {"topic": ["t", None], "partition": [0, 1], "write_bps": [5.0, 1.0]},
        "broker": {"broker_id": [1, 2, 3], "disk_capacity_bytes": [1000, 1000, None]},
    }
    for name, columns in tables.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / name / "part-0.parquet")
    return folder


def test_samples_say_how_many_bytes_are_there_and_how_many_are_to_come(tmp_path: Path) -> None:
    samples = read_samples(samples_in(tmp_path))
    (found,) = conclude([Told(a_move(), ((0, 1),))], LED, samples).moves
    assert (found.bytes_copied, found.bytes_total) == (25, 100)


def test_a_row_of_samples_without_a_key_is_rejected(tmp_path: Path) -> None:
    (held,) = read_samples(samples_in(tmp_path)).rejected_rows
    assert held.reason == "no topic"
    assert held.source.endswith("partition")


def test_samples_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSamples, match="none of the tables"):
        read_samples(tmp_path)
    (tmp_path / "broker.parquet").write_bytes(b"no table")
    with pytest.raises(BadSamples, match=r"broker\.parquet"):
        read_samples(tmp_path)


def test_tables_are_written_with_their_schemas(tmp_path: Path) -> None:
    from kedge.pipeline.audit import audit  # noqa: PLC0415 - of this test

    files = write(tmp_path / "journal", written())
    write_progress({"kedge": progress(files)}, tmp_path / "out")
    write_audits({"kedge": audit(files)}, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "progress")
    assert table.num_rows == 3
    assert str(table.schema.field("target").type) == "list<element: int32>"
    names = [
        "audit_gap",
        "audit_violation",
        "broker_reassignment",
        "eta_calibration",
        "progress",
        "rejected_rows",
        "stuck",
        "wave_calibration",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert pq.read_table(tmp_path / "out" / "audit_violation").num_rows == 0


def snapshot_in(root: Path, snapshot: str, cluster: str = "c") -> None:
    """As `kedge plan collect` writes it: broker 3 has a future replica beside its own, and t-1 a size of no broker."""
    place = Place(root, cluster, snapshot)
    logs = [(1, "/a", "t", 0, 100), (3, "/a", "t", 0, 25), (3, "/b", "t", 0, 7), (None, None, "t", 1, 60)]
    place.write(REPLICA_LOG, from_rows(REPLICA_LOG, [(*log, None, log[1] == "/b") for log in logs]))
    place.write(PARTITION, from_rows(PARTITION, [("t", 0, [1, 3], [1], 1, 0, None, 0, None, None)]))
    loads = [("t", 0, 100, 5.0, None, 1.0, "measured"), ("t", 1, 60, 0.1, None, 0.5, "size_only")]
    place.write(REPLICA_LOAD, from_rows(REPLICA_LOAD, loads))
    place.write(BROKER, from_rows(BROKER, [(3, None, None, "alive", 100, None, None)]))


def test_samples_of_a_folder_of_snapshots_are_those_of_the_last_or_the_named_one(tmp_path: Path) -> None:
    """Not the sum of all of them, by which a disk of 100 bytes with 32 on it would be full."""
    for snapshot in ("s1", "s2", "s3", "s4"):
        snapshot_in(tmp_path, snapshot)
    for found in (read_samples(tmp_path), read_samples(tmp_path, snapshot="s2")):
        assert found.used_bytes == {1: 100, 3: 32}
        assert "disk full" not in causes_of(a_move(), LED, found)
    with pytest.raises(BadSamples, match="the folder has no snapshot s9"):
        read_samples(tmp_path, snapshot="s9")


def test_samples_of_a_folder_of_several_clusters_are_of_the_one_that_is_named(tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        snapshot_in(tmp_path, "s1", cluster)
    with pytest.raises(BadSamples, match="give --cluster with one of east, west, or --all-clusters"):
        read_samples(tmp_path)
    assert read_samples(tmp_path, cluster="west").used_bytes == {1: 100, 3: 32}


def test_samples_may_be_in_files_of_any_name(tmp_path: Path) -> None:
    """As other programs write them."""
    snapshot_in(tmp_path, "s1")
    before = read_samples(tmp_path)
    for file in list(tmp_path.rglob("part.parquet")):
        file.rename(file.with_name(f"{file.parents[2].name}-0.parquet"))
    assert read_samples(tmp_path) == before


def test_a_future_replica_fills_the_disk_and_is_not_the_replica(tmp_path: Path) -> None:
    snapshot_in(tmp_path, "s1")
    assert read_samples(tmp_path).size_bytes["t", 0] == {1: 100, 3: 25}


def test_a_size_that_names_no_broker_is_that_of_every_replica(tmp_path: Path) -> None:
    """As kafka-kit's metrics give it: what is to be copied is known, what is copied already is not."""
    snapshot_in(tmp_path, "s1")
    samples = read_samples(tmp_path)
    assert samples.rejected_rows == ()
    (found,) = conclude([Told(a_move(partition=1), ((0, 1),))], LED, samples).moves
    assert (found.bytes_copied, found.bytes_total) == (None, 60)


def test_rates_that_were_measured_are_those_of_the_loads_where_the_partition_has_none(tmp_path: Path) -> None:
    """`kedge plan collect` puts the rates of samples there; one that was worked out from the size is no measurement."""
    snapshot_in(tmp_path, "s1")
    samples = read_samples(tmp_path)
    assert samples.write_bps == {("t", 0): 5.0}
    throttled = LED._replace(rates_bps=((3, 5.0),))
    assert list(causes_of(a_move(), throttled, samples)) == ["throttle below ingest"]
