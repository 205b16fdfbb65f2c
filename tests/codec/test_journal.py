"""Lines and names of files of a journal as bytes."""

from __future__ import annotations

import json

import pytest

from kedge.controller.codec import journal, journal_text
from kedge.controller.model.values import Partition

LINE = b'{"epoch":1,"seq":2,"row":0,"ts":5,"event":"Takeover","rows":1}'


def test_a_line_is_read_however_it_is_spaced() -> None:
    assert journal.row_of(LINE) == journal.row_of(b"  " + LINE.replace(b":", b" : ")) == json.loads(LINE)


@pytest.mark.parametrize("field", journal.REQUIRED)
def test_a_line_without_a_required_field_is_none_of_a_journal(field: str) -> None:
    row = json.loads(LINE)
    for broken in ({name: said for name, said in row.items() if name != field}, row | {field: None}):
        with pytest.raises(ValueError, match=r"^not a line of a journal$"):
            journal.row_of(json.dumps(broken).encode())


@pytest.mark.parametrize("line", [b"", b"{", LINE + b"}", LINE[:-1], b'{"epoch":\xff}', b'{"epoch":' * 100_000])
def test_what_is_not_json_is_called_so(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not JSON$"):
        journal.row_of(line)


def test_names_of_files_have_a_cluster_an_epoch_and_a_number() -> None:
    assert journal.file_name("a-b.c_1-12-3.jsonl") == ("a-b.c_1", 12, 3)
    for other in ("a-1.jsonl", "a-1-2.json", "a-1-12345678901.jsonl", "é-1-2.jsonl", "-1-2.jsonl"):
        assert journal.file_name(other) is None


def test_a_commit_ends_with_the_number_of_its_lines() -> None:
    hashed = LINE[:-1] + b',"prev":"' + b"0f" * 32 + b'"}'
    assert [journal.ends_commit(line) for line in (LINE, hashed, LINE + b" ", b"{}")] == [1, 1, None, None]


def test_a_row_about_a_partition_that_is_gone_has_all_but_its_epoch() -> None:
    """Its topic was deleted by the same commit."""
    gone = Partition("t", 0, (1, 2), (2,), leader=2, leader_epoch=7)
    assert json.loads(f"{{{journal_text.values(gone, None, -1, None)}}}") == {
        "topic": "t",
        "partition": 0,
        "replicas": [1, 2],
        "isr": [2],
        "leader": 2,
        "leader_epoch": 7,
        "status": 0,
    }
