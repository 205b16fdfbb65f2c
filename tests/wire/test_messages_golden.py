"""The bytes of every message that is declared here, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.wire import messages
from tests.wire.golden_bytes import CASES, FOLDER, NOT_IN_KAFKA_3, Kafka, ask_kafka, built, golden, message, private

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
