"""The CRC-32C of bytes of which the first few change, without reading the others again.

A CRC is linear: the checksums of two texts of equal length differ by that of their difference, which is zero behind the
change. Zeros are appended by a matrix over GF(2), as in zlib's `crc32_combine`. A checksum that was wrong stays wrong.
"""

from __future__ import annotations

from functools import cache

from controller.wire.codec import calc_crc32c

_POLYNOMIAL = 0x82F63B78
_BITS = 32


def with_other_head(crc: int, before: bytes, after: bytes, behind: int) -> int:
    """The checksum where `before` becomes `after`, of the same length, and so many bytes are behind it."""
    changed: int = calc_crc32c(before) ^ calc_crc32c(after)
    for power in range(behind.bit_length()):
        if behind >> power & 1:
            changed = _times(_zeros(power), changed)
    return crc ^ changed


@cache
def _zeros(power: int) -> tuple[int, ...]:
    """What appending 2**power bytes of zeros makes of each bit."""
    if power:
        half = _zeros(power - 1)
        return tuple(_times(half, row) for row in half)
    rows = [1 << bit for bit in range(_BITS)]
    for _ in range(8):
        rows = [row >> 1 ^ (_POLYNOMIAL if row & 1 else 0) for row in rows]
    return tuple(rows)


def _times(matrix: tuple[int, ...], vector: int) -> int:
    made = 0
    for bit, row in enumerate(matrix):
        if vector >> bit & 1:
            made ^= row
    return made
