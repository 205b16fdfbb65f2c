"""Checks of settings. They raise ValueError."""

from __future__ import annotations

import attrs


def not_negative(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    """The value is an int of at least 0."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{attribute.name} must be an int of at least 0, not {value!r:.80}")


def positive(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    """The value is an int of at least 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"{attribute.name} must be an int of at least 1, not {value!r:.80}")
