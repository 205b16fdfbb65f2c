"""Batches of records with compression, and batches that unpack to far more than they are."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Final

import pyarrow as pa
from kafka.record.util import calc_crc32c

from kedge.controller.model.logs import Batch, StoredBatch
from kedge.controller.wire.data.batches import read_batch
from tests.wire.living import records

GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
EPOCH: Final = 3

_HEADER_BYTES: Final = 61
_LENGTH_AT, _ATTRIBUTES_AT = 8, 22  # of the second one the low byte
_CRC_AT, _CHECKED_AT = 17, 21
_BEFORE_LENGTH: Final = 12
_MIB: Final = 1024 * 1024


def packed(batch: bytes, codec: int) -> bytes:
    """The same batch, plain (0) or compressed with one of Kafka's codecs."""
    return batch if codec == 0 else with_records(batch, compressed(batch[_HEADER_BYTES:], codec), codec)


def compressed(data: bytes, codec: int) -> bytes:
    """By one of Kafka's codecs."""
    if codec == GZIP:
        return gzip.compress(data, mtime=0)
    name = {SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}[codec]
    return bytes(pa.Codec(name).compress(data, asbytes=True))


def packed_by_java(batch: bytes, block_bytes: int) -> bytes:
    """The same batch by snappy, in blocks as snappy-java writes them."""
    rest, snappy = batch[_HEADER_BYTES:], pa.Codec("snappy")
    blocks = [snappy.compress(rest[at : at + block_bytes], asbytes=True) for at in range(0, len(rest), block_bytes)]
    head = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    return with_records(batch, head + b"".join(struct.pack(">i", len(block)) + block for block in blocks), SNAPPY)


def stored(payload: bytes, base: int = 40, epoch: int = EPOCH) -> StoredBatch:
    """The batch in a log."""
    batch = read_batch(payload)
    assert isinstance(batch, Batch)
    return StoredBatch(base, epoch, batch)


def bomb(mib: int) -> bytes:
    """A batch that says to hold one record, and unpacks to so many MiB of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packer.compress(bytes(_MIB)) for _ in range(mib)]
    return with_records(records(b"x"), b"".join([*parts, packer.flush()]))


def with_crc(batch: bytes) -> bytes:
    """The batch with the checksum of what it has."""
    return batch[:_CRC_AT] + struct.pack(">I", calc_crc32c(batch[_CHECKED_AT:])) + batch[_CHECKED_AT:]


def with_records(batch: bytes, rest: bytes, codec: int = GZIP) -> bytes:
    """The header of the batch, and `rest` as its records by this codec."""
    head = bytearray(batch[:_HEADER_BYTES])
    head[_ATTRIBUTES_AT] = codec
    struct.pack_into(">i", head, _LENGTH_AT, _HEADER_BYTES - _BEFORE_LENGTH + len(rest))
    return with_crc(bytes(head) + rest)
