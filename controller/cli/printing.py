"""How text of strangers is printed."""

from __future__ import annotations


def clean(text: str) -> str:
    """Control characters and broken surrogates as escapes: a name must not move the cursor of who reads it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
