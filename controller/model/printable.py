"""Text that others wrote, for logs and terminals: names of clients, errors of brokers, keys of the store."""

from __future__ import annotations


def clean(text: str) -> str:
    """Control characters and broken surrogates as escapes, so that a text neither begins another line nor changes a
    terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
