"""Batches of records with compression, and batches that unpack to far more than they are."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Final

from tests.wire.living import records

_HEADER_BYTES: Final = 61
_LENGTH_AT, _ATTRIBUTES_AT = 8, 22  # of the second one the low byte
_BEFORE_LENGTH: Final = 12
_MIB: Final = 1024 * 1024


def packed(batch: bytes, codec: int) -> bytes:
    """The same batch, plain (0) or by gzip (1)."""
    return batch if codec == 0 else _with(batch, gzip.compress(batch[_HEADER_BYTES:], mtime=0))


def bomb(mib: int) -> bytes:
    """A batch that says to hold one record, and unpacks to so many MiB of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packer.compress(bytes(_MIB)) for _ in range(mib)]
    return _with(records(b"x"), b"".join([*parts, packer.flush()]))


def _with(batch: bytes, rest: bytes) -> bytes:
    """The header of the batch, and `rest` as its records by gzip."""
    head = bytearray(batch[:_HEADER_BYTES])
    head[_ATTRIBUTES_AT] = 1
    struct.pack_into(">i", head, _LENGTH_AT, _HEADER_BYTES - _BEFORE_LENGTH + len(rest))
    return bytes(head) + rest
