"""Lines that are plain are read in one go, and come to the same as by the long way; what is not plain goes that way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.pipeline.audit import audit
from kedge.pipeline.journal import lines as reading
from kedge.pipeline.journal.lines import plain_row, read_line
from tests.pipeline_journal.journals import find, leader_outside_isr, lines_of, throttled, write, written

LINES = [*lines_of(written()), *lines_of(throttled())]
LINE = b'{"epoch":1,"seq":2,"row":0,"ts":5,"event":"IsrChanged"'


def test_every_line_that_a_controller_wrote_is_plain() -> None:
    assert [line for line in LINES if plain_row(line) is None] == []


@pytest.mark.parametrize(
    "rest",
    [
        b',"newer":1',
        b',"newer" :1',
        b',"topic":"a","topic":"b"',
        b',"topic":"a\\"b"',
        b',"topic":"\\ud800"',
        b',"topic":"\xed\xa0\x80"',
        b',"topic":null',
        b',"partition":1.0',
        b',"partition":2147483648',
        b',"partition_epoch":9223372036854775808',
        b',"replicas":[1,true]',
        b',"replicas":[1,-2147483648]',
        b',"detail":[]',
        b',"detail":{"a":1},"detail":{}',
        b',"detail":{"a":' + b"[" * 100_000,
    ],
)
def test_what_is_not_plain_goes_the_long_way(rest: bytes) -> None:
    assert plain_row(LINE + rest + b"}") is None


@pytest.mark.parametrize(
    "rest",
    [
        b',"partition":-0',
        b',"topic":"caf\xc3\xa9 \\u00e9\\ud83d\\ude00"',
        b',"replicas":[]',
        b' , "status" : -1 ',
        b',"\\u0074opic":"a"',
        b',"detail":{"a":1e999,"b":18446744073709551616,"a":[]}',
    ],
)
def test_what_is_spelled_otherwise_is_plain_and_the_same(rest: bytes) -> None:
    row = plain_row(LINE + rest + b"}")
    assert row is not None
    assert repr(row) == repr(_slowly(LINE + rest + b"}"))


PIECES = [
    *(
        b"\\",
        b"\\u0041",
        b"\\ud800",
        b"\xed\xa0\x80",
        b"\xff",
        b" ",
        b"-",
        b"0",
        b"1.0",
        b"e3",
        b"9" * 20,
        b"null",
        b"NaN",
    ),
    *(b'"', b"{", b"}", b"[]", b",", b":", b'"x":1,', b'"topic":"b",', b'"detail":{"x":[1.5]},'),
]


@pytest.mark.slow
@settings(max_examples=400)
@given(data=st.data())
def test_whatever_befalls_a_line_is_read_as_by_the_long_way(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(LINES))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(line)))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=2))
        line = line[:at] + piece + line[at + data.draw(st.integers(0, 4)) :]
    row = plain_row(line)
    assert row is None or repr(row) == repr(_slowly(line))


def _slowly(line: bytes) -> object:
    return reading._read_slowly("f", 1, "", line).row  # noqa: SLF001 - what the fast way is held to


def test_rejected_line_is_reported_as_before() -> None:
    assert read_line("f", 3, LINE + b',"partition":1.5}').reason == "partition is no number of 32 bits: 1.5"


@pytest.mark.slow
def test_without_msgspec_the_same_is_said(tmp_path: Path) -> None:
    rows = written()
    leader_outside_isr(rows)
    files = write(tmp_path, rows, lines_max=12)
    lines = files[0].read_bytes().splitlines(keepends=True)
    lines[find(rows, "TopicCreated")] = b"broken\n"
    files[0].write_bytes(b"".join(lines))
    program = (
        "import sys; sys.modules['msgspec'] = None\n"
        "from pathlib import Path\n"
        "from kedge.pipeline.audit import audit\n"
        "print(repr(audit([Path(name) for name in sys.argv[1:]])))"
    )
    command = [sys.executable, "-c", program, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(audit(files))
