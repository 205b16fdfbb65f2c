"""An audit that goes on: however a journal is cut into batches, it says what one pass says."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kedge.pipeline.audit import RejectedRow, Violation, audit
from kedge.pipeline.audit.follow import Said, follow
from kedge.pipeline.audit.kept import topics_in, values_of
from kedge.pipeline.journal.files import place_of, read_parts, whole_part
from kedge.pipeline.journal.lines import Event
from tests.pipeline_journal.breaks import JOURNALS
from tests.pipeline_journal.journals import (
    append,
    values,
    write,
    written,
    written_by_a_zombie,
)


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


@pytest.mark.parametrize("journal, kind", JOURNALS)
def test_findings_are_the_same_in_any_batches(
    journal: Callable[[Path], list[Path]], kind: str | None, tmp_path: Path
) -> None:
    files = journal(tmp_path)
    same_in_any_batches(files, seed=1)
    assert kind is None or kind in {violation.kind for violation in audit(files).violations}


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


class Planted:
    """Would leave a folder behind if a state could name any function."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_state_with_a_foreign_function_runs_nothing(tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError, match="a state of an audit must not hold"):
        values_of(pickle.dumps(Planted(tmp_path / "made")))
    assert not (tmp_path / "made").exists()
