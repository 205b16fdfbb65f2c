"""The attacks of benchmarks, fuzzer and soak are what they are said to be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.consumer.group import JoinGroupRequest
from kafka.protocol.metadata.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record import MemoryRecords

from kedge.controller.model.logs import Batch
from kedge.controller.wire.bounds import elements
from kedge.controller.wire.data.batches import read_batch
from tests.wire import attack_frames as frames
from tests.wire.attacks import ATTACKS, Aim, attack
from tests.wire.living import TIME_MS, Living
from tests.wire.served import RawClient

SIZE = 300  # of two bytes as a varint in zigzag


@pytest.mark.parametrize(
    "kind,version,frame,count",
    [
        (FetchRequest, 4, frames.fetch_topics, SIZE),
        (FetchRequest, 4, frames.fetch_partitions, 1 + SIZE),
        (FetchRequest, 4, lambda size: frames.polled("kept", range(size)), 1 + SIZE),
        (MetadataRequest, 4, frames.metadata_names, SIZE),
        (ProduceRequest, 3, frames.produce_topics, SIZE),
        (ProduceRequest, 3, lambda size: frames.produced("kept", bytes(size)), 2),
        (ListOffsetsRequest, 4, lambda size: frames.offsets_of_time("kept", size), 1 + SIZE),
        (JoinGroupRequest, 4, lambda size: frames.joined("a", "b", size, client_bytes=7), SIZE),
    ],
)
def test_a_frame_has_so_many_elements(kind: Any, version: int, frame: Callable[[int], bytes], count: int) -> None:
    size, body = frame(SIZE)[:4], frame(SIZE)[4:]
    assert int.from_bytes(size) == len(body)
    assert elements(kind, version, body, most=10_000) == count
    read = kind.decode(body, version=version, header=True)
    read.with_header(1, read.header.client_id)
    assert bytes(read.encode(header=True)) == body


def test_a_batch_has_records_of_one_time_and_a_forged_one_in_its_header() -> None:
    payload = frames.batch(SIZE, frames.FORGED_MS)
    batch = read_batch(payload)
    assert isinstance(batch, Batch)
    assert (batch.records, batch.max_timestamp_ms) == (SIZE, frames.FORGED_MS)
    read = MemoryRecords(payload).next_batch()
    assert read.validate_crc()
    assert [(each.offset, each.timestamp) for each in read] == [(offset, TIME_MS) for offset in range(SIZE)]


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_begins_and_a_client_is_served_after_it(
    living: Living, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aim = Aim(living.address, page=living.address)  # what is closed there is opened again as well
    asyncio.run(attack(name, aim, seconds=0.2, part=1_000))
    assert capsys.readouterr().out == "begun\n"
    with RawClient(living.address) as client:
        assert client.ask("Metadata", 8, topics=[]).brokers
