"""Regular expressions of clients, by RE2: its time grows with the length of the text and not exponentially, whatever
the expression is. Kafka's brokers use RE2/J, which has the same syntax.

Bounds: an expression has `LENGTH_MAX` characters, and `_BYTES_MAX` in memory when it is compiled. A match against a
topic, a group or an id of 249 characters then takes 3 ms at worst, and a few microseconds as a rule. It takes up to
0.4 s against the longest string of Kafka's protocol, but other threads go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

LENGTH_MAX: Final = 1000
_BYTES_MAX: Final = 128 * 1024


def compiled(pattern: str) -> Callable[[str], bool]:
    """Whether the whole of a text matches. RE2 caches the last 128 expressions. Raises ValueError, with the reason, for
    an expression that is not valid, too long or too large."""
    import re2  # noqa: PLC0415 - few clients send an expression, and the import takes 3 ms

    if len(pattern) > LENGTH_MAX:
        raise ValueError(f"a regular expression has at most {LENGTH_MAX} characters, got {len(pattern)}")
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = _BYTES_MAX, False, True
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise ValueError(f"not a valid regular expression: {reason}") from error
    return lambda text: expression.fullmatch(text) is not None
