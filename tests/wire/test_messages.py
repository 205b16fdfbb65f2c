"""Messages of ours: their bytes are Kafka's, they come back from them, and kafka-python's own are left alone."""

from __future__ import annotations

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
from tests.wire.golden_bytes import CASES, FOLDER, NOT_IN_KAFKA_3, Kafka, ask_kafka, built, golden, message, private

CLASSES: Final = sorted(
    {*messages.requests().values(), *messages.RESPONSES.values()}, key=lambda cls: str(cls.__name__)
)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _built_in_order(bits: set[int]) -> set[int]:
    """As the codec builds it, since messages are compared by how they print."""
    return {bit for bit in range(31) if bit in bits}


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
    "bitfield": st.sets(st.integers(0, 30)).map(_built_in_order),
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
    assert repr(read) == repr(sent)  # which does not tell the classes of two fields with one struct apart
    assert bytes(read.encode()) == content


def test_clients_of_kafka_python_in_the_same_process_read_metadata_with_their_own_class() -> None:
    registered = ResponseClassRegistry._response_class_registry[kafka_metadata.MetadataResponse.API_KEY]  # noqa: SLF001
    # It, or the class of one of its versions, which enters the registry when it is made.
    assert registered[None] is kafka_metadata.MetadataResponse
    assert not hasattr(kafka_metadata.MetadataResponse.MetadataResponseTopic.MetadataResponsePartition, "status_code")


KAFKAS = {name: [row for row in golden() if row[0] == name] for name in CASES}


def names() -> list[str]:
    """Every message of ours by name."""
    classes = [*messages.requests().values(), *messages.RESPONSES.values()]
    return sorted(cls.__name__ for cls in classes)


def check(name: str, version: int, values: dict[str, Any], expected: bytes) -> None:
    ours = built(name, version, values)
    assert bytes(ours.encode()).hex() == expected.hex(), (name, version)
    read = message(name).decode(expected, version=version)
    assert read.to_dict() == ours.to_dict(), (name, version)
    assert bytes(read.encode()) == expected, (name, version)


def test_each_version_of_each_message_has_golden_bytes() -> None:
    shown = {(name, version) for name, version, _, _ in [*golden(), *private()]}
    declared = {(name, version) for name in names() for version in range(message(name).max_version + 1)}
    assert shown == declared - NOT_IN_KAFKA_3


@pytest.mark.checklist(98, 134, 137, 139, 189)
@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_of_kafkas_own_classes(name: str) -> None:
    for _, version, number, content in KAFKAS[name]:
        check(name, version, CASES[name][number], content)


@pytest.mark.checklist(20, 21, 187, 188)
def test_bytes_of_private_messages_are_those_of_the_field_lists() -> None:
    for name, version, values, content in private():
        check(name, version, values, content)


@pytest.fixture(scope="module")
def kafka() -> Kafka:
    return ask_kafka()


@pytest.mark.server
@pytest.mark.slow
def test_the_golden_bytes_are_what_kafkas_classes_make_today(kafka: Kafka) -> None:
    assert (FOLDER / "kafka.txt").read_text(encoding="utf-8") == kafka.text


@pytest.mark.server
@pytest.mark.slow
def test_versions_and_headers_are_those_of_kafka(kafka: Kafka) -> None:
    for key, versions in kafka.headers.items():
        response = messages.RESPONSES[key]
        request = messages.requests().get(key)
        if request is not None:
            declared = [v for v in range(request.max_version + 1) if (request.__name__, v) not in NOT_IN_KAFKA_3]
            assert sorted(versions) == declared, request
        for version, (of_request, of_response) in versions.items():
            assert of_response == int(response.flexible_version_q(version)), (response, version)
            if request is not None and version >= messages.VERSIONS[key][0]:
                assert of_request == 1 + int(request.flexible_version_q(version)), (request, version)
