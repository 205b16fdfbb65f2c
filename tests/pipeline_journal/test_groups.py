"""How topics are spread over groups changes nothing, and every event is a row of its table."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.pipeline.audit import Audit, audit
from kedge.pipeline.audit.local import part_of
from kedge.pipeline.audit.rounds import NO_TOPIC, Files, audits, first_rounds
from kedge.pipeline.journal.arrow import batch_of
from kedge.pipeline.journal.files import journal_files, read_part, split, whole_part
from kedge.pipeline.journal.lines import read_line
from kedge.pipeline.progress import Progress, progress
from kedge.pipeline.progress.conclusions import STUCK_MS
from kedge.pipeline.progress.local import progresses
from tests.pipeline_journal.breaks import JOURNALS, chain_broken_twice
from tests.pipeline_journal.journals import (
    find,
    leader_outside_isr,
    write,
    written,
)


def in_groups(files: list[Path], groups: int) -> Audit:
    """As workers do it, in this process: what they get and return goes through pickles."""
    return audits({"c": Files([part_of(file) for file in files], groups)}, _through_pickles)["c"]


def progress_in_groups(files: list[Path], groups: int) -> Progress:
    parts = [part_of(file) for file in files]
    return progresses({"c": Files(parts, groups)}, {}, _through_pickles, as_of_ms=None, stuck_ms=STUCK_MS)["c"]


def _through_pickles(work: Callable[[Any], Any], given: Iterable[Any]) -> list[Any]:
    return [_there_and_back(_there_and_back(work)(one)) for one in given]


def _there_and_back(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - ours


@pytest.mark.parametrize("journal, kind", JOURNALS)
def test_findings_are_the_same_in_any_number_of_groups(
    journal: Callable[[Path], list[Path]], kind: str | None, tmp_path: Path
) -> None:
    files = journal(tmp_path)
    found = audit(files)
    assert in_groups(files, 1) == in_groups(files, 3) == in_groups(files, 16) == found
    assert kind is None or kind in {violation.kind for violation in found.violations}


def test_first_place_of_a_broken_chain_in_a_term_is_reported(tmp_path: Path) -> None:
    """Between two files before one that is within a later file."""
    files = chain_broken_twice(tmp_path)
    (first,) = [v for v in audit(files).violations if v.kind == "chain" and v.controller_epoch == 1]
    assert (first.file, first.line) == (str(files[1]), 1)


@pytest.mark.slow
def test_several_processes_say_what_one_says(tmp_path: Path) -> None:
    rows = written()
    leader_outside_isr(rows)
    files = write(tmp_path, rows, lines_max=12)
    told: list[tuple[int, int]] = []
    found = audit(files, lambda done, total: told.append((done, total)), processes=2, several_bytes=0)
    assert found == audit(files) == audit(files, processes=3, several_bytes=0)
    assert found.violations
    assert told[-1][0] == told[-1][1] == sum(file.stat().st_size for file in files)


def test_a_file_that_is_shorter_in_the_second_round_ends_it(tmp_path: Path) -> None:
    (file, *_) = write(tmp_path, written())
    part = whole_part(file)
    journal = first_rounds({"c": Files([part], 1)}, map)["c"]
    assert list(journal.rows(0))
    file.write_bytes(file.read_bytes()[: part.end // 2])
    with pytest.raises(EOFError):
        list(journal.rows(NO_TOPIC))


@pytest.mark.slow
def test_a_file_that_is_gone_in_the_second_round_costs_time_and_nothing_else(tmp_path: Path) -> None:
    """A process cannot open it; one pass says that it went."""
    files = write(tmp_path, written(), lines_max=12)
    told: list[int] = []

    def rotate(done: int, total: int) -> None:  # noqa: ARG001 - as `audit` calls it
        told.append(done)
        if len(told) == len(files):
            files[0].unlink()

    found = audit(files, rotate, processes=2, several_bytes=0)
    assert {gap.kind for gap in found.gaps} >= {"file gone"}
    assert found.counts.lines > 0


@pytest.mark.slow
def test_a_process_that_is_killed_costs_time_and_nothing_else(tmp_path: Path) -> None:
    files = write(tmp_path, written(), lines_max=12)
    killed: list[int | None] = []

    def kill(done: int, total: int) -> None:  # noqa: ARG001 - as `audit` calls it
        for process in active_children() if not killed else ():
            killed.append(process.pid)
            process.kill()

    assert audit(files, kill, processes=2, several_bytes=0) == audit(files)
    assert killed


@pytest.mark.parametrize("spelling", [b'"\\u0074opic":"other"', b'"topic":"other"', b'"topic":null', b'"event":"Gap"'])
def test_a_name_that_stands_twice_or_is_spelled_otherwise_is_of_the_topic_that_it_says_last(
    spelling: bytes, tmp_path: Path
) -> None:
    (file, *_) = files = write(tmp_path, written())
    lines = file.read_bytes().splitlines(keepends=True)
    i = find(written(), "TargetSet")
    lines[i] = lines[i].replace(b'"target"', spelling + b',"target"')
    file.write_bytes(b"".join(lines))
    assert audit(files).violations
    assert in_groups(files, 3) == audit(files)


def test_each_move_is_reported_by_one_group_though_a_takeover_lists_all(tmp_path: Path) -> None:
    """The second term finds a move that runs, and is all that is left of its topic."""
    assert any(row["detail"]["moves"] for row in written() if row["event"] == "Takeover")
    second = [row for row in written() if row["epoch"] == 2 and row.get("topic") != "orders"]
    for name, rows in (("all", written()), ("second", second)):
        files = write(tmp_path / name, rows, lines_max=12)
        found = progress(files)
        assert "orders" in {move.topic for move in found.moves}
        assert progress_in_groups(files, 5) == progress_in_groups(files, 1) == found


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_files_are_reported_alike_in_any_number_of_groups(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines that are lost, doubled, swapped or broken; files that are gone; tails that are torn."""
    folder = tmp_path_factory.mktemp("journal")
    files = write(folder, written(), lines_max=12)
    for _ in range(data.draw(st.integers(1, 4))):
        file = data.draw(st.sampled_from(files))
        if file.exists():
            befall(data, file)
    left = journal_files([folder])
    assert in_groups(left, 4) == audit(left)


def befall(data: st.DataObject, file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    if not lines:
        return
    i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = data.draw(st.sampled_from(["lost", "doubled", "swapped", "broken", "gone", "torn"]))
    if kind == "gone" and len(list(file.parent.iterdir())) > 1:
        file.unlink()
        return
    if kind == "lost":
        del lines[i]
    elif kind == "doubled":
        lines.insert(j, lines[i])
    elif kind == "swapped":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "broken":
        lines[i] = data.draw(st.binary(max_size=20)).replace(b"\n", b"") + b"\n"
    else:
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    file.write_bytes(b"".join(lines))


@pytest.mark.parametrize("part_bytes", [1, 500, 5_000, 10**9])
def test_a_file_read_in_parts_gives_its_lines_in_their_places(part_bytes: int, tmp_path: Path) -> None:
    """Each part of whole commits; a broken line and a torn tail stay where they are."""
    file = write(tmp_path, written())[0]
    lines = file.read_bytes().splitlines(keepends=True)
    lines[20] = b"broken\n"
    file.write_bytes(b"".join(lines) + b'{"epoch"')
    whole = whole_part(file)
    parts = list(split(whole, part_bytes))
    assert [event for part in parts for event in read_part(part)] == list(read_part(whole))
    assert (len(parts) > 1) == (part_bytes < 10**9)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.text(st.characters(exclude_categories=["Cs"])),
    "partition": st.integers(-(2**31), 2**31 - 1),
    "replicas": st.lists(st.integers(0, 2**31 - 1), max_size=4),
    "target": st.lists(st.integers(0, 2**31 - 1), max_size=4),
    "status": st.integers(-128, 127),
    "broker": st.integers(0, 2**31 - 1),
    "detail": st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists), max_size=3),
    "ts": st.integers(-(10**14), 253_402_300_799_999),
    "newer": st.text(),
}


@pytest.mark.slow
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_any_line_is_a_row_of_the_table_or_is_rejected(fields: dict[str, Any]) -> None:
    row = {"epoch": 1, "seq": 2, "row": 0, "ts": 5, "event": "IsrChanged", **fields}
    event = read_line("f", 1, json.dumps(row).encode())
    batch = batch_of([event])
    batch.validate(full=True)
    (found,) = batch.to_pylist()
    if event.row is None:
        assert event.reason
    else:
        names = {"broker": "broker_id"}
        plain = {names.get(name, name): row[name] for name in row if name not in ("epoch", "ts", "detail", "newer")}
        assert plain.items() <= found.items()


def test_a_hash_is_that_of_the_bytes_whatever_their_spelling(tmp_path: Path) -> None:
    """A line that says the same in other bytes breaks the chain."""
    rows = written()
    (file, *_) = write(tmp_path, rows)
    i = find(rows, "TargetSet")
    lines = file.read_bytes().splitlines(keepends=True)
    lines[i] = lines[i].replace(b'"event"', b' "event"')
    file.write_bytes(b"".join(lines))
    files = journal_files([tmp_path])
    assert [v.kind for v in audit(files).violations] == ["chain"]
    assert in_groups(files, 3) == audit(files)
