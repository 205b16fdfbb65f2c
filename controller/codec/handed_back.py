"""`/kedge/handed_back`: the cluster was given to Kafka's own controller, so controllers of Kedge stand by.

`{"version":1,"phase":"begun"}`; `done` once `/controller` was removed.
"""

from __future__ import annotations

from typing import Final, Literal

from .text import bad, dump, fields, parse

Phase = Literal["begun", "done"]
BEGUN: Final[Phase] = "begun"
DONE: Final[Phase] = "done"


def decode(value: bytes) -> Phase:
    """BadValue for anything else."""
    found = fields(parse(value), "handed_back").get("phase")
    if found == BEGUN:
        return BEGUN
    return DONE if found == DONE else bad("phase", f"{BEGUN} or {DONE}", found)


def encode(phase: Phase) -> bytes:
    """The key's value."""
    return dump({"version": 1, "phase": phase}).encode()
