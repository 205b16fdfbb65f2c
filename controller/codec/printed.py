"""Assignments in the saved output of kafka-reassign-partitions: --generate prints the current and the proposed one,
--execute the current one, each as JSON below a heading and between other text."""

from __future__ import annotations

import json
import re
from typing import Final

CURRENT: Final = "Current partition replica assignment"
PROPOSED: Final = "Proposed partition reassignment configuration"
_HEADING: Final = re.compile(rf"^({CURRENT}|{PROPOSED})\s*$\s*", re.MULTILINE)


def printed_assignments(data: bytes) -> dict[str, str]:
    """The JSON below each heading, as text; empty where `data` has no heading. What is not JSON is returned as it is.
    Raises ValueError for a heading that occurs twice, since it is not clear which one is meant."""
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError:
        return {}
    found: dict[str, str] = {}
    for heading in _HEADING.finditer(text):
        if heading[1] in found:
            raise ValueError(f"{heading[1]!r} occurs twice in it")
        begin = heading.end()
        try:
            _, end = json.JSONDecoder().raw_decode(text, begin)
        except (ValueError, RecursionError):
            end = len(text)
        found[heading[1]] = text[begin:end]
    return found
