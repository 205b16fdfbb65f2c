"""How a count is printed: `1 move`, `2 moves`."""

from __future__ import annotations


def counted(number: int, what: str, form: str = "") -> str:
    """The number and the noun. `what`: the noun in the singular, the last word of several. `form`: as of `format`."""
    ending = "y" if what.endswith("y") and what[-2] not in "aeiou" else ""
    plural = f"{what.removesuffix(ending)}{'ies' if ending else 's'}"
    return f"{number:{form}} {what if number == 1 else plural}"
