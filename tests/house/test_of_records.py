"""Requests about records ask no controller: they are answered where the brokers are, also on standby.

A handler that asked the controller closed the connection of every client whose brokers are in another process than the
active controller, and no test of one process showed it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

WIRE: Final = Path(__file__).resolve().parents[2] / "controller" / "wire"
ROOMS: Final = ("data", "groups", "transactions")
ASKED: Final = {"query", "admin", "controller"}  # attributes of `Call`
ASKING: Final = {"with_topic", "names_of"}  # functions that use them
ALLOWED: Final = {
    ("data/creating.py", "admin"),  # Metadata, which the active controller answers
    ("data/creating.py", "query"),
    ("transactions/producers.py", "with_topic"),  # creates the topic where it can, answers without it where it cannot
}


def asks(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr in ASKED and ast.unparse(node.value) == "call":
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ASKING:
            yield ast.unparse(node.func).rpartition(".")[2]


def test_no_other_request_about_records_asks_the_controller() -> None:
    files = [file for room in ROOMS for file in (WIRE / room).rglob("*.py")]
    found = {(str(file.relative_to(WIRE)), name) for file in files for name in asks(file.read_text("utf-8"))}
    assert found == ALLOWED


@pytest.mark.parametrize("code", ["call.query(seen)", "f(call.admin)", "await reading.names_of(call, ids)"])
def test_a_question_is_found(code: str) -> None:
    assert list(asks(f"async def handler(call, request):\n    {code}\n"))
