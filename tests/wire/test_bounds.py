"""What a request may make of us is known before anything is made of it."""

from __future__ import annotations

import struct
import tracemalloc
from random import Random
from typing import Any

import pytest
from kafka.protocol.admin.topics import CreateTopicsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.metadata.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest

from kedge.controller.wire import Limits
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.bounds import elements
from kedge.controller.wire.errors import Garbage, Refused, TooLarge
from tests.kit.waiting import until
from tests.wire.requests_made import every_version, frame, made
from tests.wire.served import RawClient, Served, framed

MIB = 1024 * 1024
TAGS = 50  # as many tagged fields, which count too, may stand in the few structs of these requests
# Others than those that are offered here, with every kind of field: arrays in arrays, bytes, tags.
KINDS = [*every_version(dict(APIS)), *((CreateTopicsRequest, v) for v in range(8)), (SaslAuthenticateRequest, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("kind, version", KINDS)
def test_what_is_counted_is_what_is_made_and_no_part_of_a_request_passes_for_one(kind: Any, version: int) -> None:
    random = Random(version)
    for _ in range(10):
        whole = frame(kind, version, random)
        read = kind.decode(whole, version=version, header=True)
        count = elements(kind, version, whole, 10_000)
        assert made(read, version) <= count <= made(read, version) + TAGS
        assert elements(kind, version, whole + b"\1\0\0", 10_000) == count  # librdkafka's
        for end in range(len(whole)):
            with pytest.raises(Garbage):
                elements(kind, version, whole[:end], 10_000)
        if count:
            with pytest.raises(TooLarge):
                elements(kind, version, whole, count - 1)


@pytest.mark.parametrize("count, refused", [(2**31 - 1, Garbage), (20 * MIB, TooLarge), (100, None)])
def test_a_list_of_many_is_refused_before_it_is_made(count: int, refused: type[Refused] | None) -> None:
    asked = _header(3, 1) + struct.pack(">i", count) + bytes(64 * MIB)
    tracemalloc.start()
    try:
        if refused is None:
            assert elements(MetadataRequest, 1, asked, 2_000_000) == count
        else:
            with pytest.raises(refused):
                elements(MetadataRequest, 1, asked, 2_000_000)
        assert tracemalloc.get_traced_memory()[1] < MIB  # of 160 and more; threads of earlier tests may take some, too
    finally:
        tracemalloc.stop()


def test_tagged_fields_cost_what_the_codec_makes_of_them() -> None:
    """It copies the rest of the frame at every section of them: 100,000 topics with a tag each in a frame of 1 MiB
    would take minutes."""
    topic = b"\2x" + b"\1\5\1z"  # a name, and one unknown tag with one byte
    count = b"\xa1\x8d\x06"  # 100,001, as a varint: of 100,000
    asked = _header(3, 9) + b"\0" + count + topic * 100_000 + bytes(10)
    with pytest.raises(TooLarge):
        elements(MetadataRequest, 9, asked, 2_000_000)


@pytest.mark.parametrize(
    "body",
    [
        struct.pack(">i", -2),  # a count below null
        struct.pack(">ih", 1, -1),  # a name that is null
        struct.pack(">ih", 1, -3),
        struct.pack(">ih", 1, 100) + b"cut",
    ],
)
def test_null_stands_only_where_the_schema_has_it(body: bytes) -> None:
    with pytest.raises(Garbage):
        elements(MetadataRequest, 1, _header(3, 1) + body, 1000)


def test_numbers_count_as_what_handlers_make_of_them() -> None:
    """Partitions of a topic whose offsets are asked for."""
    topic = struct.pack(">h", 1) + b"t" + struct.pack(">i", 1000) + bytes(4 * 1000)
    asked = _header(9, 1) + struct.pack(">h", 1) + b"g" + struct.pack(">i", 1) + topic
    assert elements(OffsetFetchRequest, 1, asked, 2000) == 1001


@pytest.mark.parametrize("size, refused", [(32_767, False), (32_768, True)])
def test_string_is_no_longer_than_kafkas_longest(size: int, refused: bool) -> None:
    """A compact one could be as long as the frame."""
    length = size + 1
    name = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14]) + b"x" * size
    asked = _header(3, 9) + b"\0\2" + name + b"\0" + bytes(4)
    if refused:
        with pytest.raises(Garbage, match="name has 32768 bytes"):
            elements(MetadataRequest, 9, asked, 10)
    else:
        assert elements(MetadataRequest, 9, asked, 10) == 1


def test_request_that_is_never_about_a_whole_cluster_has_a_limit_of_its_own() -> None:
    limits = Limits(elements=1000, elements_of_others=10)
    with Served(limits=limits) as served, RawClient(served.address) as client:
        topics = [{"name": "x", "topic_id": None}] * 11
        assert client.ask("Metadata", 12, topics=topics).topics
        assert client.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["g"] * 10).coordinators
        client.begin("FindCoordinator", 4, key_type=0, coordinator_keys=["g"] * 11)
        assert client.receive() is None


def test_request_with_more_elements_than_the_limit_is_refused() -> None:
    with Served(limits=Limits(elements=1000)) as served, RawClient(served.address) as client:
        for count in (1000, 1001):  # topics without a name
            client.send(framed(_header(3, 1) + struct.pack(">i", count) + bytes(2 * count)))
        assert client.receive() is not None
        assert client.receive() is None
        until(lambda: served.gateway.counts["too_large"] == 1)


def _header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 7, -1)
