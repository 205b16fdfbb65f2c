"""Messages of ours go to bytes and back, whatever is in them, and leave kafka-python's own alone."""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol import metadata as kafka_metadata
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.schemas import BaseField

from kedge.controller.wire import messages
from kedge.controller.wire.protocol import build

CLASSES: Final = sorted(
    {*messages.requests().values(), *messages.RESPONSES.values()}, key=lambda cls: str(cls.__name__)
)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


SIMPLE: Final[dict[str, st.SearchStrategy[Any]]] = {
    "int8": _integers(8),
    "int16": _integers(16),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": _integers(32),
    "int64": _integers(64),
    "bool": st.booleans(),
    "string": st.text(max_size=300),
    # The zero id is None to the codec.
    "uuid": st.none() | st.integers(1, 2**128 - 1).map(lambda number: uuid.UUID(int=number)),
    "bitfield": st.sets(st.integers(0, 30)),
}


def _has(field: dict[str, Any], version: int, key: str = "versions") -> bool:
    found = BaseField.parse_versions(field.get(key))
    return found is not None and bool(found[0] <= version <= found[1])


def _values(cls: Any, field: dict[str, Any], version: int) -> st.SearchStrategy[Any]:
    type_ = field["type"].removeprefix("[]")
    one = _structs(getattr(cls, type_), field["fields"], version) if "fields" in field else SIMPLE[type_]
    some = st.lists(one, max_size=3) if field["type"].startswith("[]") else one
    return st.none() | some if _has(field, version, "nullableVersions") else some


def _structs(cls: Any, fields: Sequence[dict[str, Any]], version: int) -> st.SearchStrategy[Any]:
    here = {
        BaseField.underscore_name(field["name"]): _values(cls, field, version)
        for field in fields
        if _has(field, version)
    }
    return st.builds(cls, version=st.just(version), **here)


@st.composite
def filled(draw: st.DrawFn) -> Any:
    """Any message of ours, in any of its versions, with any values."""
    cls = draw(st.sampled_from(CLASSES))
    version = draw(st.integers(0, cls.max_version))
    return draw(_structs(cls, cls.json["fields"], version))


@pytest.mark.slow
@given(filled())
def test_a_message_comes_back_from_its_bytes(sent: Any) -> None:
    content = bytes(sent.encode())
    read = type(sent).decode(content, version=sent.version)
    assert read == sent
    assert bytes(read.encode()) == content


@pytest.mark.slow
@given(filled(), st.data())
def test_bytes_that_end_early_are_an_ordinary_exception(sent: Any, data: st.DataObject) -> None:
    content = bytes(sent.encode())
    cut = data.draw(st.integers(0, len(content) - 1))
    # A string at the very end may come back cut without an exception, which the codec does not see.
    with contextlib.suppress(struct.error, IndexError, ValueError):
        read = type(sent).decode(content[:cut], version=sent.version)
        assert len(bytes(read.encode())) <= len(content)


@pytest.mark.parametrize("key", messages.requests())
def test_a_request_with_its_header_is_read_with_it_and_its_answer_found(key: int) -> None:
    request = messages.requests()[key]
    lowest, highest = messages.VERSIONS[key]
    for version in range(lowest, highest + 1):
        sent = request(version=version)
        sent.with_header(correlation_id=7, client_id="kedge")
        read = request.decode(bytes(sent.encode(header=True, framed=True)), version=version, header=True, framed=True)
        assert (read.header.request_api_key, read.header.request_api_version) == (key, version)
        assert (read.header.correlation_id, read.header.client_id) == (7, "kedge")
        assert read.header.get_response_class()[None] is messages.RESPONSES[key]


def test_clients_of_kafka_python_in_the_same_process_read_metadata_with_their_own_class() -> None:
    registered = ResponseClassRegistry._response_class_registry[kafka_metadata.MetadataResponse.API_KEY]  # noqa: SLF001
    # It, or the class of one of its versions, which enters the registry when it is made.
    assert registered[None] is kafka_metadata.MetadataResponse
    assert not hasattr(kafka_metadata.MetadataResponse.MetadataResponseTopic.MetadataResponsePartition, "status_code")


@pytest.mark.checklist(189)
@pytest.mark.parametrize("version", range(9, 14))
def test_a_client_that_does_not_know_the_status_reads_the_same_metadata(version: int) -> None:
    topic = messages.MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    sent = messages.MetadataResponse(
        version=version,
        topics=[topic(version=version, name="foo", partitions=[partition(version=version, status_code=-1)])],
    )
    read = kafka_metadata.MetadataResponse.decode(bytes(sent.encode()), version=version)
    assert read.topics[0].name == "foo"
    assert read.topics[0].partitions[0].unknown_tags == {"_20000": b"\xff"}


@pytest.mark.checklist(138)
def test_update_metadata_has_one_address_in_version_0_several_from_1_and_a_rack_from_2() -> None:
    """KIP-36. The bytes of all versions are held against Kafka's own in the golden ones."""
    places = [
        {"port": 9092, "host": "h4", "security_protocol": 0},
        {"port": 9093, "host": "h4", "security_protocol": 3},
    ]
    broker = {"id": 4, "v0_host": "h4", "v0_port": 9092, "endpoints": places, "rack": "r1"}
    read = {}
    for version in range(3):
        request = build(messages.UpdateMetadataRequest, version, {"controller_id": 1, "live_brokers": [broker]})
        content = bytes(request.encode(version=version))
        (read[version],) = messages.UpdateMetadataRequest.decode(content, version=version).live_brokers
        assert (b"r1" in content) is (version == 2)
    assert (read[0].v0_host, read[0].v0_port) == ("h4", 9092)
    assert [[(e.host, e.port) for e in read[v].endpoints] for v in (1, 2)] == [[("h4", 9092), ("h4", 9093)]] * 2
    assert [read[version].rack for version in range(3)] == [None, None, "r1"]
