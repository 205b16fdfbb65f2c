"""Divides ops into commits within the limits of a store.

Rules
* Ops keep their order.
* A commit takes at most half of the declared bytes, since a server holds several at once, and larger requests are not
  faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..base import Capabilities, Op, Put, TooLarge
from ..checks import op_bytes

OPS_MAX: Final = 500  # per commit: more make it slower to send again, and not faster


def check_fits(ops: Iterable[Op], capabilities: Capabilities) -> None:
    """Raise TooLarge, naming the key, if one of `ops` exceeds the limits of the store even alone."""
    for op in ops:
        size = len(op.value) if isinstance(op, Put) else 0
        if size > capabilities.value_bytes_max:
            raise _too_large(op, f"a value of {size} bytes", capabilities, capabilities.value_bytes_max)
        if op_bytes(op) > capabilities.commit_bytes_max:
            raise _too_large(op, f"{op_bytes(op)} bytes to commit", capabilities, capabilities.commit_bytes_max)


def _too_large(op: Op, what: str, capabilities: Capabilities, limit: int) -> TooLarge:
    return TooLarge(f"{op.key}: {what} exceeds the limit of {capabilities.name}, {limit}", key=op.key)


def batches(ops: Iterable[Op], capabilities: Capabilities, guard: Sequence[Op] = ()) -> Iterator[list[Op]]:
    """`ops` in order, as lists of one commit each; every list begins with `guard`. An op that is too large for a batch
    has a list of its own."""
    ops_max = max(1, min(OPS_MAX, capabilities.commit_ops_max) - len(guard))
    bytes_max = capabilities.commit_bytes_max // 2 - sum(map(op_bytes, guard))
    batch: list[Op] = []
    filled = 0
    for op in ops:
        size = op_bytes(op)
        if batch and (len(batch) >= ops_max or filled + size > bytes_max):
            yield [*guard, *batch]
            batch, filled = [], 0
        batch.append(op)
        filled += size
    if batch:
        yield [*guard, *batch]
