"""An audit that goes on: however a journal is cut into batches, it says what one pass says."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kedge.pipeline.audit import RejectedRow, Violation, audit
from kedge.pipeline.audit.follow import Said, follow, place_of
from kedge.pipeline.audit.kept import topics_in
from kedge.pipeline.journal.files import journal_files, read_parts, whole_part
from kedge.pipeline.journal.lines import Event
from tests.pipeline_journal.breaks import BREAKS
from tests.pipeline_journal.journals import (
    PLANTED,
    Row,
    append,
    find,
    seeded,
    throttled,
    values,
    write,
    written,
    written_by_a_zombie,
)


def epoch_back_in_the_next_term(rows: list[Row]) -> None:
    now = values(rows, "payments", 1)
    append(rows, {"event": "IsrChanged", "cause": "alter_isr", **now, "leader_epoch": now["leader_epoch"] - 1})


def partitions_added_twice(rows: list[Row]) -> None:
    created = rows[find(rows, "TopicCreated", topic="payments")]
    added = {"event": "PartitionsAdded", "topic": "payments", "topic_id": created["topic_id"]}
    append(rows, {"event": "TopicCreated", "topic": "new", "topic_id": "n", "detail": {"assignments": [[1], [2]]}})
    append(rows, {**added, "topic": "new", "topic_id": "n", "detail": {"first": 2, "assignments": [[1]]}})
    append(rows, {**added, "topic": "new", "topic_id": "n", "detail": {"first": 2, "assignments": [[1]]}})


def broker_left_twice(rows: list[Row]) -> None:
    for _ in range(2):
        append(rows, {"event": "BrokerLeft", "broker": 6})


def legacy_key_removed_twice(rows: list[Row]) -> None:
    for _ in range(2):
        append(rows, {"event": "LegacyKeyRemoved"})


def changed_in_a_gap(rows: list[Row]) -> None:
    """Nothing is wrong: the rows that say so are missing. What breaks a rule comes later."""
    now = values(rows, "payments", 0, status=1)
    append(rows, {"event": "StatusChanged", **now, "leader_epoch": now["leader_epoch"] + 1})
    append(rows, {"event": "Gap", "detail": {"first": {"controller_epoch": rows[-1]["epoch"]}}})
    append(rows, {"event": "IsrChanged", "cause": "alter_isr", **now, "status": 0, "replicas": [5, 6], "isr": [5, 6],
                  "leader": 5, "leader_epoch": now["leader_epoch"] + 7})  # fmt: skip
    broker_left_twice(rows)


KNOWN_FROM_BEFORE: dict[Callable[[list[Row]], None], str] = {
    epoch_back_in_the_next_term: "leader epoch",
    partitions_added_twice: "topic",
    broker_left_twice: "broker",
    legacy_key_removed_twice: "legacy key",
    changed_in_a_gap: "broker",
}
"""Rows that are wrong by what a row long before said, with the kind of the violation."""


class Stream:
    """What is kept between batches, as a state store keeps it: by cluster and by topic."""

    def __init__(self) -> None:
        self.state: bytes | None = None
        self.topics: dict[str, bytes] = {}
        self.said: list[Said] = []

    def take(self, events: Sequence[Event]) -> list[Said]:
        events = sorted(events, key=lambda event: (place_of(event.file), event.line))
        step = follow(self.state, {name: self.topics.get(name) for name in topics_in(events)}, events)
        self.state = step.state
        for name, kept in step.topics.items():
            self.topics.pop(name, None)
            if kept is not None:
                self.topics[name] = kept
        self.said += step.said
        return step.said

    def violations(self, files: Sequence[Path]) -> list[Violation]:
        rank = [str(file) for file in files]
        found = [one for one in self.said if isinstance(one, Violation)]
        return sorted(found, key=lambda v: (rank.index(v.file), v.line, v.kind))


def rows_of(files: Sequence[Path]) -> list[Event]:
    return [event for file in files for event in read_parts(whole_part(file)) if event.problem != "torn tail"]


def cut(events: list[Event], chooser: random.Random, batches: int) -> list[list[Event]]:
    """Batches that end where a commit ends."""
    ends = [at for at, event in enumerate(events, 1) if event.row is None or "rows" in event.row]
    chosen = sorted(chooser.sample(ends, min(batches, len(ends)))) if batches < len(ends) else ends
    return [part for a, b in zip([0, *chosen], [*chosen, len(events)], strict=True) if (part := events[a:b])]


def same_in_any_batches(files: Sequence[Path], seed: int) -> None:
    whole, events = audit(files), rows_of(files)
    expected = sorted(whole.violations, key=lambda v: ([str(f) for f in files].index(v.file), v.line, v.kind))
    for batches in (0, 3, 10, len(events)):
        stream = Stream()
        for batch in cut(events, random.Random(seed), batches):
            stream.take(batch)
        assert stream.violations(files) == expected, batches


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("lines_max", [12, 10**9])
def test_whatever_is_planted_is_found_in_any_batches(
    plant: Callable[[list[Row]], object], lines_max: int, tmp_path: Path
) -> None:
    rows = written()
    plant(rows)
    same_in_any_batches(write(tmp_path, rows, lines_max), seed=1)


@pytest.mark.parametrize("plant", KNOWN_FROM_BEFORE, ids=lambda plant: plant.__name__)
def test_what_was_known_before_is_known_in_any_batches(plant: Callable[[list[Row]], None], tmp_path: Path) -> None:
    rows = written()
    plant(rows)
    files = write(tmp_path, rows)
    assert KNOWN_FROM_BEFORE[plant] in {violation.kind for violation in audit(files).violations}
    same_in_any_batches(files, seed=1)


@pytest.mark.parametrize("made", BREAKS, ids=lambda made: made.__name__)
def test_a_broken_journal_is_followed_alike_in_any_batches(made: Callable[[Path], list[Path]], tmp_path: Path) -> None:
    files = made(tmp_path)
    for seed in range(3):
        same_in_any_batches(files, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [201, 202, 203])
def test_a_broken_cluster_is_honest_in_any_batches(seed: int, tmp_path: Path) -> None:
    seeded(tmp_path, seed, 300)
    same_in_any_batches(journal_files([tmp_path]), seed)


def test_throttles_and_reductions_are_followed_in_any_batches(tmp_path: Path) -> None:
    same_in_any_batches(write(tmp_path, throttled(), lines_max=12), seed=2)


def test_nothing_is_kept_of_a_topic_that_was_deleted(tmp_path: Path) -> None:
    stream = Stream()
    stream.take(rows_of(write(tmp_path, written())))
    assert set(stream.topics) == {"orders", "payments"}


def test_what_is_kept_does_not_grow_with_rows(tmp_path: Path) -> None:
    """A partition whose isr shrinks and grows again, for a thousand commits."""
    rows, sizes = written(), []
    for count in (20, 1_000):
        epoch = values(rows, "payments", 0)["partition_epoch"]
        for n in range(count):
            isr = [2, 3] if n % 2 == 0 else values(rows, "payments", 0)["replicas"]
            changed = values(rows, "payments", 0, isr=isr, partition_epoch=epoch + n + 1)
            append(rows, {"event": "IsrChanged", "cause": "alter_isr", **changed})
        stream = Stream()
        stream.take(rows_of(write(tmp_path / str(count), rows)))
        assert stream.state is not None
        sizes.append(len(stream.state) + sum(map(len, stream.topics.values())))
    assert abs(sizes[1] - sizes[0]) < 100, sizes


def kinds(said: Sequence[Said]) -> list[tuple[str, int]]:
    return [(one.kind, one.line) for one in said if not isinstance(one, RejectedRow)]


def test_a_superseded_controller_that_writes_late_is_found_when_it_writes(tmp_path: Path) -> None:
    """The stream has read the next term by then. Its row changes nothing; one pass says the same of it, and that the
    numbers of the next term do not follow on it."""
    rows = written()
    written_by_a_zombie(rows)
    files = write(tmp_path, rows)
    first, second = (rows_of([file]) for file in files)
    stream = Stream()
    assert stream.take([*first[:-1], *second]) == []
    late = stream.take(first[-1:])
    assert kinds(late) == [("superseded epoch", len(first)), ("late lines", len(first))]
    assert stream.violations(files) == [v for v in audit(files).violations if v.kind == "superseded epoch"]


def test_rows_of_a_term_that_reach_the_file_after_the_next_takeover_are_a_gap(tmp_path: Path) -> None:
    """They were committed in time, so nothing is wrong; what they say was missing when the next rows were judged."""
    files = write(tmp_path, written())
    first, second = (rows_of([file]) for file in files)
    whole = max(i for i, event in enumerate(first[:-1]) if event.row is not None and "rows" in event.row) + 1
    stream = Stream()
    stream.take(first[:whole])
    assert kinds(stream.take(second)) == [("missing tail", 1)]
    assert kinds(stream.take(first[whole:])) == [("late lines", whole + 1)]


def test_a_file_that_went_before_it_was_read_to_its_end_is_a_gap(tmp_path: Path) -> None:
    """The next one follows on lines that cannot be read any more."""
    files = write(tmp_path, written(), lines_max=12)
    first, *others = (rows_of([file]) for file in files)
    whole = max(i for i, event in enumerate(first[:-1]) if event.row is not None and "rows" in event.row) + 1
    stream = Stream()
    stream.take(first[:whole])
    files[0].unlink()
    assert [kind for kind, _ in kinds(stream.take([event for part in others for event in part]))] == ["file gone"]


def test_lost_file_of_a_superseded_controller_is_reported_once(tmp_path: Path) -> None:
    """The Takeover shows that something in it was written late, and does not show what."""
    rows = written()
    written_by_a_zombie(rows)
    first, second = write(tmp_path, rows)
    events, stream = rows_of([second]), Stream()
    stream.take(rows_of([first]))
    first.unlink()
    for event in events:
        stream.take([event])
    assert [kind for kind, _ in kinds(stream.said)].count("file gone") == 1
