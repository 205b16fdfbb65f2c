"""The golden bytes of messages: cases as values, the bytes that Kafka's own classes make of them, the bytes of ours.

* `golden/cases.json`: message to cases, in the JSON of Kafka's converters, each with the fields of all versions.
  `_tags` says what the tagged fields of ours are on the wire; Kafka's classes write it as tags that they do not know.
* `golden/kafka.txt`: what Kafka's classes make of each case in each version. `python -m tests.wire.golden_bytes` makes
  it again (a JDK from 17 up, jars from Maven: `tests/kafka_jars.py`).
* `golden/private.txt`: messages that Kafka does not have, byte by byte from their field lists.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from kafka.protocol.schemas import BaseField

from kedge.controller.wire import messages
from servers.java import find_java
from tests.kafka_jars import VERSION, kafka_classpath

FOLDER: Final = Path(__file__).parent / "golden"
CASES: Final[dict[str, list[dict[str, Any]]]] = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
NOT_IN_KAFKA_3: Final = frozenset(
    {
        ("MetadataResponse", 13),
        *((f"ConsumerGroup{api}{kind}", 1) for api in ("Heartbeat", "Describe") for kind in ("Request", "Response")),
    }
)
"""What came with Kafka 4."""
_JAVA_S: Final = 120.0
_HEADER: Final = f"""\
# Message, version, number of the case in cases.json, body as hex: as classes of kafka-clients {VERSION} write it.
# Made by `python -m tests.wire.golden_bytes`.
"""


def message(name: str) -> Any:
    """The class of that name."""
    return getattr(messages, name)


def built(name: str, version: int, values: dict[str, Any]) -> Any:
    """The message with `values` (as in cases.json), as far as the version has them."""
    cls = message(name)
    return _built(cls, _fields(cls.json), values, version)


def _fields(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Its fields, with those of the structs that several of them share."""
    shared = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}

    def whole(field: dict[str, Any]) -> dict[str, Any]:
        inner = field.get("fields") or shared.get(field["type"].removeprefix("[]"))
        return {**field, "fields": [whole(each) for each in inner]} if inner else field

    return [whole(field) for field in schema["fields"]]


def _built(cls: Any, fields: Sequence[dict[str, Any]], values: dict[str, Any], version: int) -> Any:
    given = {}
    for field in fields:
        key = _key(field)
        if key in values and _has(field, version):
            value = values[key]
            if "fields" in field and value is not None:
                inner = getattr(cls, field["type"].removeprefix("[]"))
                built = [_built(inner, field["fields"], each, version) for each in _several(value)]
                value = built if isinstance(value, list) else built[0]
            elif field["type"] == "uuid":
                value = _uuid(value)
            elif field["type"] == "[]uuid":
                value = [_uuid(each) for each in value]
            given[BaseField.underscore_name(field["name"])] = value
    return cls(version=version, **given)


def in_version(name: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
    """`values` without what our schema does not have in that version: Kafka's classes refuse what theirs does not."""
    cls = message(name)
    return _pruned(_fields(cls.json), values, version, tags=cls.flexible_version_q(version))


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _pruned(fields: Sequence[dict[str, Any]], values: dict[str, Any], version: int, *, tags: bool) -> dict[str, Any]:
    by_key = {_key(field): field for field in fields}
    kept = {}
    for key, value in values.items():
        field = by_key.get(key)
        if (key == "_tags" and not tags) or (field and not _has(field, version)):
            continue
        inner = field.get("fields") if field else None
        pruned = [_pruned(inner, each, version, tags=tags) for each in _several(value)] if inner and value else None
        kept[key] = value if pruned is None else pruned if isinstance(value, list) else pruned[0]
    return kept


def kafka(lines: Sequence[str]) -> list[str]:
    """The answers of `golden/Golden.java` to `lines`. Raises NoServer without a JDK, AssertionError when it failed."""
    command = [find_java(17, "Kafka's classes"), "-cp", kafka_classpath(), str(FOLDER / "Golden.java")]
    said = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=_JAVA_S)
    assert said.returncode == 0, said.stderr[-2000:]
    return said.stdout.splitlines()


@attrs.frozen
class Kafka:
    """What Kafka's classes say: `headers`: API key to version to (version of the request's header, of the response's),
    of the keys that are Kafka's; `text`: that of `golden/kafka.txt`."""

    headers: dict[int, dict[int, tuple[int, int]]]
    text: str


def ask_kafka() -> Kafka:
    """Both in one run, because it takes seconds to start. Raises NoServer without a JDK."""
    keys = [key for key in messages.RESPONSES if key < 20000]
    asked = [
        (f"{name} {version}", number, in_version(name, version, values))
        for name, cases in CASES.items()
        for version in range(message(name).max_version + 1)
        if (name, version) not in NOT_IN_KAFKA_3
        for number, values in enumerate(cases)
    ]
    answers = kafka(
        [*(f"api {key}" for key in keys), *(f"write {what} {json.dumps(values)}" for what, _, values in asked)]
    )
    headers = {}
    for key, answer in zip(keys, answers, strict=False):
        rows = [tuple(map(int, row.split())) for row in answer.split(",")]
        headers[key] = {version: (request, response) for version, request, response in rows}
    written = [
        f"{what} {number} {answer}\n" for (what, number, _), answer in zip(asked, answers[len(keys) :], strict=True)
    ]
    return Kafka(headers, _HEADER + "".join(written))


def golden() -> Iterator[tuple[str, int, int, bytes]]:
    """Name, version, number of the case and bytes of each row of `golden/kafka.txt`."""
    for row in (FOLDER / "kafka.txt").read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            name, version, number, content = row.split(" ")
            yield name, int(version), int(number), bytes.fromhex(content)


def private() -> Iterator[tuple[str, int, dict[str, Any], bytes]]:
    """Name, version, values and bytes of each block of `golden/private.txt`."""
    text = re.sub(r"(?m)^#.*\n", "", (FOLDER / "private.txt").read_text(encoding="utf-8"))
    for block in text.strip().split("\n\n"):
        head, values, *rows = block.splitlines()
        name, version = head.split(" ")
        yield name, int(version), json.loads(values), bytes.fromhex("".join(row.partition("|")[0] for row in rows))


def _key(field: dict[str, Any]) -> str:
    name: str = field.get("kafkaName", field["name"])
    return name[0].lower() + name[1:]


def _has(field: dict[str, Any], version: int) -> bool:
    lowest, highest = BaseField.parse_versions(field["versions"])
    return bool(lowest <= version <= highest)


def _uuid(text: str) -> uuid.UUID | None:
    """Kafka's text of an id; the codec has None for the zero one."""
    found = uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    return found if found.int else None


if __name__ == "__main__":
    (FOLDER / "kafka.txt").write_text(ask_kafka().text, encoding="utf-8")
