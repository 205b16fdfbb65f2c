"""Settings that are given: `k=v,k=[a,b]`, files of properties, lists of names. As Kafka's tool reads them.

Beyond Kafka: a name that is empty, given twice, or both set and deleted is refused; there the last one counts, or the
deletion. So is a bracket without its other half, of which Kafka's makes a list of what happens to follow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.properties import read_properties

_BRACKETS: Final = re.compile(r"\[[^\]]*\]?")
_CLOSED: Final = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*")
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_FORM: Final = 'Invalid entity config: all configs to be added must be in the format "key=val".'


@attrs.frozen
class Changes:
    """What is to be set, and names of what is to go: back to what holds without."""

    added: Mapping[str, str]
    deleted: tuple[str, ...]


def changes(added: Sequence[str], file: Path | None, deleted: Sequence[str]) -> Changes:
    """What the options --add-config, --add-config-file and --delete-config ask for. Raises Failed."""
    pairs = [pair for text in added for pair in parse_pairs(text)]
    if file is not None:
        pairs += read_properties(file).items()
    names = [name.strip() for text in deleted for name in text.split(",")]
    both = [*(name for name, _ in pairs), *names]
    for name in both:
        if _NAME.fullmatch(name) is None:
            raise Failed(f"Invalid character found for config key: {name:.200}" if name else "A config key is empty")
    if twice := _twice(both):
        raise Failed(f"Config(s) given more than once: {','.join(twice)}")
    if not both:
        raise Failed(f"{file}: no configs in it" if file is not None else _FORM)
    return Changes(dict(pairs), tuple(names))


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Names and values of `k=v,k=[a,b]`: brackets hold commas and equal signs together, and go. Raises Failed."""
    found = []
    if _CLOSED.fullmatch(text) is None:
        raise Failed(f"A bracket is not closed, or was not opened: {text:.200}")
    parts = _split(text, ",")
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        pair = _split(part, "=")
        if len(pair) != 2 or not pair[0].strip():
            raise Failed(_FORM)
        found.append((pair[0].strip(), pair[1].replace("[", "").replace("]", "").strip()))
    if not found:
        raise Failed(_FORM)
    return found


def _split(text: str, at: str) -> list[str]:
    """The parts of a text, cut outside of brackets only."""
    held = [(found.start(), found.end()) for found in _BRACKETS.finditer(text)]
    parts, begin, block = [], 0, 0
    for position, character in enumerate(text):
        while block < len(held) and held[block][1] <= position:
            block += 1
        inside = block < len(held) and held[block][0] <= position
        if character == at and not inside:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
