"""The records of compressed batches, unpacked: gzip always, snappy, LZ4 and Zstandard where pyarrow is installed (the
extra `pipeline`).

* No more is unpacked than `UNPACKED_BYTES_MAX`: a megabyte can hold a gigabyte of records.
* Bytes that unpack to nothing are refused, since they take time and count for no limit: blocks of size 0 in snappy,
  and in Zstandard more of them than a stream has by itself.
* A batch has one stream of gzip or one frame of LZ4, since not every client reads more.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Final

GZIP: Final = 1
UNPACKED_BYTES_MAX: Final = 16 * 1024 * 1024  # 16 times what a batch may have by default
_PART: Final = 128 * 1024
_SNAPPY: Final = 2
_LZ4: Final = 3
_STREAMS: Final = {_LZ4: "lz4", 4: "zstd"}
_METERS: Final = {_LZ4: 5 * 1024 * 1024, 4: 512 * 1024}  # compressed bytes of a part, in which a block is read whole
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_SIZE: Final = struct.Struct(">i")
_IN_BLOCKS: Final = b"\x82SNAPPY\0"  # how Java's clients begin; then two versions, and blocks after their sizes
_BLOCKS_AT: Final = 16
_LZ4_SIZE: Final = struct.Struct("<I")
_LZ4_CONTENT_SIZE, _LZ4_DICTIONARY, _LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_CHECKSUM = 0x08, 0x01, 0x10, 0x04
_LZ4_SLICE: Final = 128  # blocks that are looked at between two yields
_SNAPPY_RATIO: Final = 64  # a byte of snappy unpacks to fewer; its element of three bytes copies up to 64


class Unread(Exception):
    """The records of a batch are not read here: they are too many, or compressed in a way that is not supported."""


def unpacked_gzip(codec: int, packed: bytes) -> Iterator[bytes]:
    if codec != GZIP:
        raise Unread(f"codec {codec} is not gzip")
    return _bounded(_gzip_parts(packed))


def unpacked(codec: int, packed: bytes) -> Iterator[bytes]:
    """The records that were compressed with this codec of Kafka's, in parts that take about a millisecond each. Raises
    Unread where there are too many, ImportError or NotImplementedError without the codec, and ValueError or what the
    codec raises where the bytes are not of this codec."""
    if codec == GZIP:
        return unpacked_gzip(codec, packed)
    if codec not in {_SNAPPY, *_STREAMS}:
        raise ValueError(f"codec {codec} is not one of Kafka's")
    return _bounded(_snappy_parts(packed) if codec == _SNAPPY else _stream_parts(codec, packed))


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
            raise ValueError("gzip that is cut off")
        yield part
    if reader.unused_data or at < len(packed):
        raise ValueError("bytes behind the stream of gzip, which not every client reads")


def _stream_parts(codec: int, packed: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - an extra, and needed only for these

    if codec == _LZ4:
        yield from _one_frame(packed)
    source = _Metered(packed)
    source.left = _METERS[codec]
    with pa.CompressedInputStream(pa.PythonFile(source, mode="r"), _STREAMS[codec]) as stream:
        while part := stream.read(_PART):
            source.left = _METERS[codec]
            yield part


def _one_frame(packed: bytes) -> Iterator[bytes]:
    """Nothing, in slices. Raises ValueError for bytes behind the frame, struct.error or IndexError if it is cut off."""
    flags, number = packed[4], 0
    at = 7 + 8 * bool(flags & _LZ4_CONTENT_SIZE) + 4 * bool(flags & _LZ4_DICTIONARY)
    checksum = 4 * bool(flags & _LZ4_BLOCK_CHECKSUM)
    while size := _LZ4_SIZE.unpack_from(packed, at)[0] & 0x7FFF_FFFF:
        at += _LZ4_SIZE.size + size + checksum
        number += 1
        if number % _LZ4_SLICE == 0:
            yield b""
    if at + _LZ4_SIZE.size + 4 * bool(flags & _LZ4_CONTENT_CHECKSUM) != len(packed):
        raise ValueError("bytes behind the frame of LZ4, which not every client reads")


class _Metered(io.BytesIO):
    """Bytes of which no more than `left` are read before that is set again."""

    left = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.left -= len(found)
        if self.left < 0:
            raise ValueError("compressed bytes that unpack to nothing")
        return found


def _snappy_parts(packed: bytes) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - as above

    snappy = pa.Codec("snappy")
    for block in _snappy_blocks(packed):
        size = _snappy_size(block)
        if not 0 < size <= _SNAPPY_RATIO * len(block):
            raise ValueError(f"a block of snappy of {len(block)} bytes cannot hold {size}")
        if size >= UNPACKED_BYTES_MAX:
            raise Unread("too large to be read")
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
