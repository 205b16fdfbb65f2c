"""Checks of settings. They raise ValueError."""

from __future__ import annotations

import attrs


def not_negative(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    """The value is at least 0."""
    if value < 0:
        raise ValueError(f"{attribute.name} must be at least 0, not {value!r:.80}")


def positive(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    """The value is at least 1."""
    if value < 1:
        raise ValueError(f"{attribute.name} must be at least 1, not {value!r:.80}")
