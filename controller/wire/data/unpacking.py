"""The records of compressed batches, unpacked: gzip always, snappy, LZ4 and Zstandard where pyarrow is installed (the
extra `pipeline`). No more is unpacked than `UNPACKED_BYTES_MAX`: a megabyte can hold a gigabyte of records."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

GZIP: Final = 1
UNPACKED_BYTES_MAX: Final = 16 * 1024 * 1024  # 16 times what a batch may have by default
_SNAPPY: Final = 2
_STREAMS: Final = {3: "lz4", 4: "zstd"}
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_SIZE: Final = struct.Struct(">i")
_IN_BLOCKS: Final = b"\x82SNAPPY\0"  # how Java's clients begin; then two versions, and blocks after their sizes
_BLOCKS_AT: Final = 16


def unpacked_gzip(codec: int, packed: bytes) -> bytes:
    """As `unpacked`, of gzip alone."""
    if codec != GZIP:
        raise ValueError(f"codec {codec} is not gzip")
    return _not_too_large(zlib.decompressobj(_GZIP_BITS).decompress(packed, UNPACKED_BYTES_MAX))


def unpacked(codec: int, packed: bytes) -> bytes:
    """The records that were compressed with this codec of Kafka's. Raises ValueError, ImportError, or what the codec
    raises, where they cannot be read."""
    if codec not in {_SNAPPY, *_STREAMS}:
        return unpacked_gzip(codec, packed)
    import pyarrow as pa  # noqa: PLC0415 - an extra, and needed only for these

    if codec == _SNAPPY:
        blocks = [(block, _snappy_size(block)) for block in _snappy_blocks(packed)]
        if sum(size for _, size in blocks) >= UNPACKED_BYTES_MAX:
            raise ValueError("too large to be read")
        snappy = pa.Codec("snappy")
        return b"".join(snappy.decompress(block, decompressed_size=size, asbytes=True) for block, size in blocks)
    with pa.CompressedInputStream(pa.BufferReader(packed), _STREAMS[codec]) as stream:
        return _not_too_large(stream.read(UNPACKED_BYTES_MAX))


def _not_too_large(records: bytes) -> bytes:
    if len(records) >= UNPACKED_BYTES_MAX:
        raise ValueError("too large to be read")
    return records


def _snappy_blocks(packed: bytes) -> Iterator[bytes]:
    if not packed.startswith(_IN_BLOCKS):
        yield packed
        return
    at = _BLOCKS_AT
    while at < len(packed):
        (size,) = _SIZE.unpack_from(packed, at)
        if size < 1:
            raise ValueError(f"a block of snappy has no size of {size}")
        yield packed[at + _SIZE.size : at + _SIZE.size + size]
        at += _SIZE.size + size


def _snappy_size(block: bytes) -> int:
    """The size of a block when it is unpacked: seven bits a byte, the lowest first, up to a byte below 128."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise ValueError("a block of snappy begins with its size")
