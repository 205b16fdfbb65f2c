"""Assignments in the saved output of kafka-reassign-partitions."""

from __future__ import annotations

import json

import pytest

from kedge.controller.codec.printed import CURRENT, PROPOSED, printed_assignments

ONE, TWO = ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [b]}]} for b in (1, 2))
GENERATED = f"{CURRENT}\n{json.dumps(ONE)}\n\n{PROPOSED}\n{json.dumps(TWO, indent=2)}\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_assignments_are_found_however_they_were_saved(encoding: str, end: str) -> None:
    found = printed_assignments(GENERATED.replace("\n", end).encode(encoding))
    assert [json.loads(found[heading]) for heading in (CURRENT, PROPOSED)] == [ONE, TWO]


def test_the_output_of_execute_has_the_current_one() -> None:
    text = (
        f"{CURRENT}\n\n{json.dumps(ONE)}\n\nSave this to use as the --reassignment-json-file option during rollback\n"
    )
    found = printed_assignments(text.encode())
    assert {heading: json.loads(data) for heading, data in found.items()} == {CURRENT: ONE}


def test_a_file_of_json_alone_has_none() -> None:
    assert printed_assignments(json.dumps(ONE).encode()) == {}
    assert printed_assignments(b"\xff\xfe\x00") == {}


def test_what_is_torn_is_returned_as_it_is() -> None:
    assert printed_assignments(f"{CURRENT}\n{{torn\n".encode()) == {CURRENT: "{torn\n"}


def test_two_outputs_in_one_file_are_refused() -> None:
    with pytest.raises(ValueError, match="'Proposed partition reassignment configuration' occurs twice"):
        printed_assignments(f"{PROPOSED}\n{{}}\n{PROPOSED}\n{{}}\n".encode())
