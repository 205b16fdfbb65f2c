"""Ops cut into commits that a store takes, by what it declares.

Rules
* The order stays: what is given first is in the first commit.
* A commit is kept at half of the bytes that are declared, since a server holds several at once, and the last bytes of a
  request buy nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stores.base import Capabilities, Op, Put, TooLarge
from stores.checks import op_bytes

OPS_MAX: Final = 500  # in a commit: more make it slower to send again, and not faster


def check_fits(ops: Iterable[Op], capabilities: Capabilities) -> None:
    """Raise TooLarge, naming the key, if one of `ops` is over what the store takes, even alone."""
    for op in ops:
        size = len(op.value) if isinstance(op, Put) else 0
        if size > capabilities.value_bytes_max:
            raise _too_large(op, f"a value of {size} bytes", capabilities, capabilities.value_bytes_max)
        if op_bytes(op) > capabilities.commit_bytes_max:
            raise _too_large(op, f"{op_bytes(op)} bytes to commit", capabilities, capabilities.commit_bytes_max)


def _too_large(op: Op, what: str, capabilities: Capabilities, limit: int) -> TooLarge:
    return TooLarge(f"{op.key}: {what}, {capabilities.name} takes {limit}", key=op.key)


def batches(ops: Iterable[Op], capabilities: Capabilities, guard: Sequence[Op] = ()) -> Iterator[list[Op]]:
    """`ops` in their order, in lists that one commit takes each, and that begin with those of `guard` each. What does
    not fit at all stands alone with them."""
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
