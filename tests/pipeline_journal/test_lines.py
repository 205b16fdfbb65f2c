"""Lines of files that are damaged or spelled otherwise, and every event as a row of its table."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.pipeline.audit import audit
from kedge.pipeline.audit.local import audit_of, part_of
from kedge.pipeline.journal.arrow import batch_of
from kedge.pipeline.journal.files import journal_files, read_part, read_parts, split, whole_part
from kedge.pipeline.journal.lines import read_line
from tests.pipeline_journal.breaks import chain_broken_twice
from tests.pipeline_journal.journals import find, write, written


def test_first_place_of_a_broken_chain_in_a_term_is_reported(tmp_path: Path) -> None:
    """Between two files before one that is within a later file."""
    files = chain_broken_twice(tmp_path)
    (first,) = [v for v in audit(files).violations if v.kind == "chain" and v.controller_epoch == 1]
    assert (first.file, first.line) == (str(files[1]), 1)


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


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_lines_of_damaged_files_that_pass_once_give_what_the_files_give(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines that are lost, doubled, swapped or broken; files that are gone; tails that are torn. Late lines are known
    by the Takeovers alone, and no file is read again."""
    folder = tmp_path_factory.mktemp("journal")
    files = write(folder, written(), lines_max=12)
    for _ in range(data.draw(st.integers(1, 4))):
        file = data.draw(st.sampled_from(files))
        if file.exists():
            befall(data, file)
    left = [file for file in journal_files([folder]) if file.stat().st_size]  # one without a byte has no row
    events = list(chain.from_iterable(read_parts(part_of(file)) for file in left))
    takeovers = [event for event in events if event.row is not None and event.row["event"] == "Takeover"]
    assert audit_of(events, takeovers) == audit(left)


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
