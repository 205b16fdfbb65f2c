"""The CRC-32C of bytes in slices, and of bytes of which the first few change, without reading the others again.

A CRC is linear: the checksums of two texts of equal length differ by that of their difference, which is zero behind the
change. Zeros are appended by a matrix over GF(2), as in zlib's `crc32_combine`. A checksum that was wrong stays wrong.

kafka-python computes a CRC with the package `crc32c` where that is installed, else a hundred times slower.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ...runtime.turns import Work
from ..codec import calc_crc32c

_POLYNOMIAL = 0x82F63B78
_BITS = 32
_PART: Final = 32 * 1024


def checksum(data: bytes) -> Work[int]:
    """The CRC of all of it."""
    view, crc = memoryview(data), 0
    for at in range(0, len(view), _PART):
        part = view[at : at + _PART]
        crc = _behind(crc, len(part)) ^ calc_crc32c(part)
        yield
    return crc


def with_other_head(crc: int, before: bytes, after: bytes, behind: int) -> int:
    """The checksum where `before` becomes `after`, of the same length, and so many bytes are behind it."""
    return crc ^ _behind(calc_crc32c(before) ^ calc_crc32c(after), behind)


def _behind(crc: int, count: int) -> int:
    """What the CRC contributes to that of bytes to which so many were appended."""
    for power in range(count.bit_length()):
        if count >> power & 1:
            crc = _times(_zeros(power), crc)
    return crc


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
