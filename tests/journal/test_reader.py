"""The reader: rows back in order, and what is missing or was changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller import records as r
from kedge.controller.runtime.journal import FolderSink, JournalError, Reading
from tests.journal.told import Told


def journal_of_a_move(folder: Path, epoch: int = 7, file_bytes_max: int = 10**9) -> None:
    told = Told(FolderSink(folder, file_bytes_max=file_bytes_max), epoch)
    told.take_over()
    told.move()
    told.journal.resigned(told.now_ms, "lost")


def findings(*paths: Path) -> list[tuple[str, str, int]]:
    reading = Reading(paths)
    for _ in reading:
        pass
    return [(finding.kind, finding.path.name, finding.line) for finding in reading.findings]


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    """A row is the object that its line holds, nothing added, nothing left out."""
    journal_of_a_move(tmp_path)
    lines = (tmp_path / "kedge-7-0.jsonl").read_text().splitlines()
    assert list(Reading([tmp_path])) == [json.loads(line) for line in lines]
    assert len(lines) == 15


def test_the_file_and_the_line_of_each_row_are_known(tmp_path: Path) -> None:
    """A reader that finds a wrong row can name its place, from file to file."""
    journal_of_a_move(tmp_path, file_bytes_max=1000)
    reading, lines = Reading([tmp_path]), dict[Path, list[str]]()
    for row in reading:
        assert reading.at is not None
        path, line = reading.at
        held = lines.setdefault(path, path.read_text().splitlines())
        assert json.loads(held[line - 1]) == row
    assert len(lines) > 1


def test_files_are_read_by_epoch_then_number_however_they_are_given(tmp_path: Path) -> None:
    """10 comes after 9, as a number: the order is that of writing, not that of names."""
    for epoch in (10, 9):
        journal_of_a_move(tmp_path, epoch, file_bytes_max=1000)
    given_order = sorted(tmp_path.iterdir())
    reading = Reading([*given_order, tmp_path])
    rows = [(row["epoch"], row["seq"], row["row"]) for row in reading]
    assert rows == sorted(rows)
    assert len(rows) == 30
    assert reading.findings == []


def edit(change: Callable[[list[str]], object]) -> Callable[[Path], None]:
    def apply(file: Path) -> None:
        lines = file.read_text().splitlines()
        change(lines)
        file.write_text("".join(f"{line}\n" for line in lines))

    return apply


def changed(lines: list[str]) -> None:
    lines[3] = lines[3].replace('"leader":1', '"leader":2')


def swapped(lines: list[str]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


@pytest.mark.parametrize(
    "change,line",
    [
        (edit(changed), 5),
        (edit(lambda lines: lines.pop(3)), 4),
        (edit(lambda lines: lines.pop(0)), 1),
        (edit(swapped), 3),
        (edit(lambda lines: lines.insert(4, lines[3])), 5),
        (edit(lambda lines: lines.__delitem__(slice(1, 4))), 2),
    ],
    ids=["changed", "removed", "first removed", "swapped", "doubled", "whole commits removed"],
)
def test_a_line_that_was_tampered_with_breaks_the_chain(
    tmp_path: Path, change: Callable[[Path], None], line: int
) -> None:
    """The first link that does not hold is named, once per term, by file and line."""
    journal_of_a_move(tmp_path)
    change(tmp_path / "kedge-7-0.jsonl")
    assert findings(tmp_path) == [("broken link", "kedge-7-0.jsonl", line)]


@pytest.mark.slow
@given(st.data())
def test_any_changed_character_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever is changed before the last line: a finding, or an error that says that this is no journal."""
    folder = tmp_path_factory.mktemp("changed")
    journal_of_a_move(folder)
    file = folder / "kedge-7-0.jsonl"
    text = file.read_text()
    at = data.draw(st.integers(0, len(text.removesuffix("\n").rpartition("\n")[0]) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126).filter(lambda c: c != text[at]))
    file.write_text(text[:at] + other + text[at + 1 :])
    try:
        assert findings(folder)
    except JournalError as error:
        assert str(file) in str(error)  # noqa: PT017 - either of the two is right


@pytest.mark.parametrize("line", [2, 3], ids=["first", "last"])
def test_commits_around_a_broken_one_are_read(tmp_path: Path, line: int) -> None:
    """A commit that lacks a line is left out, and lines without an end are not taken for a part of the next commit."""
    journal_of_a_move(tmp_path)
    edit(lambda lines: lines.pop(line))(tmp_path / "kedge-7-0.jsonl")
    assert sorted({row["seq"] for row in Reading([tmp_path])}) == [41, 42, 44, 45]


def test_each_term_has_a_chain_of_its_own(tmp_path: Path) -> None:
    """A break in one term says nothing of the next, and both are named."""
    for epoch in (7, 8, 9):
        journal_of_a_move(tmp_path, epoch)
    for epoch in (7, 9):
        edit(changed)(tmp_path / f"kedge-{epoch}-0.jsonl")
    assert findings(tmp_path) == [("broken link", "kedge-7-0.jsonl", 5), ("broken link", "kedge-9-0.jsonl", 5)]


def test_missing_files_are_named_and_are_no_broken_link(tmp_path: Path) -> None:
    """Files that were removed by count leave a term without its start; one in between is missing for no good reason."""
    journal_of_a_move(tmp_path, file_bytes_max=1000)
    (tmp_path / "kedge-7-0.jsonl").unlink()
    assert findings(tmp_path) == [("missing start", "kedge-7-1.jsonl", 0)]
    (tmp_path / "kedge-7-2.jsonl").unlink()
    assert findings(tmp_path) == [("missing start", "kedge-7-1.jsonl", 0), ("missing file", "kedge-7-3.jsonl", 0)]


def test_a_gap_of_the_writers_own_is_found(tmp_path: Path) -> None:
    """Lines that a full disk took are reported with what the writer said of them."""
    blocker = tmp_path / "journal"
    blocker.touch()
    told = Told(FolderSink(blocker))
    told.take_over()
    blocker.unlink()
    told.write(r.KeysRewritten("orders"))
    told.journal.close()
    reading = Reading([blocker])
    assert [row["event"] for row in reading] == ["Gap", "KeysRewritten"]
    assert [finding.kind for finding in reading.findings] == ["gap"]
    assert '"commits": 1' in str(reading.findings[0])


def test_a_file_under_another_name_is_read_after_the_others(tmp_path: Path) -> None:
    """A saved copy is a journal, too."""
    journal_of_a_move(tmp_path, 7)
    journal_of_a_move(tmp_path, 8)
    saved = (tmp_path / "kedge-8-0.jsonl").rename(tmp_path / "saved.txt")
    reading = Reading([saved, tmp_path])
    assert [row["epoch"] for row in reading if row["event"] == "Takeover"] == [7, 8]
    assert reading.findings == []


@pytest.mark.parametrize(
    "content,problem",
    [
        (b"# notes\n", "notes.jsonl:1: not a line of a journal: b'# notes"),
        (b'{"epoch":7,"rows":1}\n', "notes.jsonl:1: not a line of a journal"),
        (b'{"epoch":true,"seq":1,"row":0,"ts":1,"event":"Takeover","rows":1}\n', ":1: not a line of a journal"),
        (b'{"epoch":7,"seq":1,"row":0,\n{"epoch":7,"rows":1}\n', ":1: not JSON"),
        (b'{"epoch":' + b"[" * 100_000 + b',"rows":1}\n', ":1: not JSON"),
        (b"\x00\xff\n", ":1: not a line of a journal"),
    ],
    ids=["text", "other JSON", "bool", "broken JSON", "deep JSON", "bytes"],
)
def test_what_is_no_journal_is_refused_by_file_and_line(tmp_path: Path, content: bytes, problem: str) -> None:
    """A foreign or broken file is an error that names the place, never an empty journal."""
    file = tmp_path / "notes.jsonl"
    file.write_bytes(content)
    with pytest.raises(JournalError, match=re.escape(problem)):
        list(Reading([file]))


def test_an_empty_file_is_an_empty_journal(tmp_path: Path) -> None:
    """A crash between the making of a file and its first commit leaves just that."""
    (tmp_path / "kedge-7-0.jsonl").touch()
    reading = Reading([tmp_path])
    assert list(reading) == []
    assert reading.findings == []


def test_a_path_that_cannot_be_read_is_refused_before_the_first_row(tmp_path: Path) -> None:
    """A missing path, a folder without a journal, and journals of two clusters are errors, not empty results."""
    with pytest.raises(JournalError, match="No such file"):
        Reading([tmp_path / "missing"])
    with pytest.raises(JournalError, match="no journal files"):
        Reading([tmp_path])
    with pytest.raises(JournalError, match="nothing to read"):
        Reading([])
    (tmp_path / "a-1-0.jsonl").touch()
    (tmp_path / "b-1-0.jsonl").touch()
    with pytest.raises(JournalError, match="several clusters: a, b"):
        Reading([tmp_path])
