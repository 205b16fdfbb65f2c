"""`/latest_producer_id_block`: the last block of producer ids that a broker was given, as Kafka's brokers write it."""

from __future__ import annotations

from typing import Final

import attrs

from .text import INT32_MAX, bad, dump, fields, parse, text

SIZE: Final = 1000
_INT64_MAX: Final = 2**63 - 1


@attrs.frozen
class ProducerIdBlock:
    """The ids from `start` to `end`, both included, which belong to `broker_id`."""

    broker_id: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start + 1


def decode(value: bytes) -> ProducerIdBlock:
    """`{"version":1,"broker":3,"block_start":"0","block_end":"999"}`; BadValue for anything else."""
    found = fields(parse(value), "producer id block")
    broker_id = found.get("broker")
    if type(broker_id) is not int or not 0 <= broker_id <= INT32_MAX:
        bad("broker", "a broker id", broker_id)
    start, end = (_number(found, name) for name in ("block_start", "block_end"))
    if end < start:
        bad("block_end", f"a number from {start} up", end)
    return ProducerIdBlock(broker_id, start, end)


def _number(found: dict[str, object], name: str) -> int:
    """A number of 64 bits that is written as a text."""
    said = text(found.get(name), name)
    if not (said.isascii() and said.isdigit() and len(said) <= 19 and int(said) <= _INT64_MAX):
        bad(name, "a decimal number of 64 bits, as a text", said)
    return int(said)


def encode(block: ProducerIdBlock) -> bytes:
    """The key's value."""
    found = {"version": 1, "broker": block.broker_id, "block_start": str(block.start), "block_end": str(block.end)}
    return dump(found).encode()


def next_block(block: ProducerIdBlock | None, broker_id: int) -> ProducerIdBlock:
    """The block after `block` (None: the first one). BadValue where no ids are left."""
    start = 0 if block is None else block.end + 1
    if start > _INT64_MAX - SIZE:
        bad("block_end", "a number that leaves ids above it", start - 1)
    return ProducerIdBlock(broker_id, start, start + SIZE - 1)
