"""The records of compressed batches, unpacked: gzip always, snappy, LZ4 and Zstandard where pyarrow is installed (the
extra `pipeline`). No more is unpacked than `UNPACKED_BYTES_MAX`: a megabyte can hold a gigabyte of records."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

GZIP: Final = 1
UNPACKED_BYTES_MAX: Final = 16 * 1024 * 1024  # 16 times what a batch may have by default
_PART: Final = 128 * 1024
_SNAPPY: Final = 2
_STREAMS: Final = {3: "lz4", 4: "zstd"}
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_SIZE: Final = struct.Struct(">i")
_IN_BLOCKS: Final = b"\x82SNAPPY\0"  # how Java's clients begin; then two versions, and blocks after their sizes
_BLOCKS_AT: Final = 16


class Unread(Exception):
    """The records of a batch are not read here: they are too many, or compressed in a way that is not supported."""


def unpacked_gzip(codec: int, packed: bytes) -> Iterator[bytes]:
    if codec != GZIP:
        raise Unread(f"codec {codec} is not gzip")
    return _bounded(_gzip_parts(packed))


def unpacked(codec: int, packed: bytes) -> Iterator[bytes]:
    """The records that were compressed with this codec of Kafka's, in parts that take about a millisecond each. Raises
    Unread where there are too many, ImportError, or what the codec raises, where they cannot be read."""
    if codec not in {_SNAPPY, *_STREAMS}:
        return unpacked_gzip(codec, packed)
    return _bounded(_snappy_parts(packed) if codec == _SNAPPY else _stream_parts(_STREAMS[codec], packed))


def packed_gzip(plain: bytes) -> Iterator[bytes]:
    """The compressed bytes, in parts as above."""
    packer = zlib.compressobj(wbits=_GZIP_BITS)
    for at in range(0, len(plain), _PART):
        yield packer.compress(plain[at : at + _PART])
    yield packer.flush()


def _bounded(parts: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size >= UNPACKED_BYTES_MAX:
            raise Unread("too large to be read")
        yield part


def _gzip_parts(packed: bytes) -> Iterator[bytes]:
    reader, at = zlib.decompressobj(_GZIP_BITS), 0
    while not reader.eof:
        more = reader.unconsumed_tail
        if not more:
            more, at = packed[at : at + _PART], at + _PART
        part = reader.decompress(more, _PART)
        if not part and not more:
            return  # it is cut off
        yield part
    if reader.unused_data or at < len(packed):
        raise Unread("several streams in one batch")


def _stream_parts(name: str, packed: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - an extra, and needed only for these

    with pa.CompressedInputStream(pa.BufferReader(packed), name) as stream:
        while part := stream.read(_PART):
            yield part


def _snappy_parts(packed: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - as above

    blocks = [(block, _snappy_size(block)) for block in _snappy_blocks(packed)]
    if sum(size for _, size in blocks) >= UNPACKED_BYTES_MAX:
        raise Unread("too large to be read")
    snappy = pa.Codec("snappy")
    for block, size in blocks:
        yield snappy.decompress(block, decompressed_size=size, asbytes=True)


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
