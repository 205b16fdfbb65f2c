"""Answers with an error instead of a result, for every API alike, by the schemas of request and answer.

The error is in every place that the schema has for one: beside each partition, topic or group that the request names,
and at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .codec import fields_of
from .slices import sliced

_OTHER_NAMES: Final = {"partition_index": "partition", "topic_name": "name"}
"""Names of fields in answers, and their names in requests where those differ."""
_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("base_offset", "committed_offset", "low_watermark", "high_watermark", "last_stable_offset"), -1),
    **dict.fromkeys(("node_id", "port"), -1),
    "records": b"",
}
"""What Kafka's brokers put beside an error where the schema has no default."""


async def mirrored(fields: Mapping[str, Any], version: int, asked: Any, code: int, message: str) -> dict[str, Any]:
    """An answer, or a row of one, that names the same as the request, or its row, and has the error. `fields`: of the
    schema of the answer or of its row."""
    made: dict[str, Any] = {}
    given = _given(asked, version)
    for name, field in fields.items():
        if not field.for_version_q(version):
            continue
        if name == "error_code":
            made[name] = code
        elif name == "error_message":
            made[name] = message
        elif field.is_struct_array():
            if _has_place(field):
                rows = _rows(given, name, field)
                made[name] = [await mirrored(field.fields, version, row, code, message) async for row in sliced(rows)]
            elif isinstance(same := given.get(name), list):  # what names a quota
                made[name] = [each.to_dict() for each in same]
        elif (value := _same(given, name)) is not None or field.nullable_for_version_q(version):
            made[name] = value
    return made


def replaced(
    fields: Mapping[str, Any], version: int, answer: Mapping[str, Any], code: int, message: str
) -> dict[str, Any]:
    """The answer, or a row of one, with this error in each place for one."""
    made = dict(answer)
    for name, field in fields.items():
        if not field.for_version_q(version):
            continue
        if name == "error_code":
            made[name] = code
        elif name == "error_message":
            made[name] = message
        elif field.is_struct_array() and _has_place(field):
            made[name] = [replaced(field.fields, version, row, code, message) for row in answer.get(name) or ()]
    return made


def _rows(given: Mapping[str, Any], name: str, field: Any) -> list[Any]:
    """The list of a request, or of one of its rows, that the list `name` of the answer is about: the list of that name,
    or the first one."""
    lists = [value for value in (given.get(name), *given.values()) if isinstance(value, list)]
    if lists and "topic_name" in field.fields:  # AlterReplicaLogDirs: requested by directory, answered by topic
        return [topic for row in lists[0] for topic in row.topics]
    return lists[0] if lists else []


def _has_place(field: Any) -> bool:
    inner = field.fields
    return "error_code" in inner or any(each.is_struct_array() and _has_place(each) for each in inner.values())


def _given(asked: Any, version: int) -> dict[str, Any]:
    """The fields of a request, or of one of its rows. A topic, a group or a partition may be given alone there."""
    if isinstance(asked, str):
        return dict.fromkeys(("name", "key", "group_id"), asked)
    if isinstance(asked, int):
        return dict.fromkeys(("partition_index", "partition_id"), asked)
    fields = fields_of(asked)
    return {name: getattr(asked, name) for name, field in fields.items() if field.for_version_q(version)}


def _same(given: Mapping[str, Any], name: str) -> Any:
    if name == "leader_epoch":  # of a request it asks about an epoch; the answer has another one, or none
        return None
    value = given.get(name, given.get(_OTHER_NAMES.get(name, "")))
    return _NOTHING.get(name) if value is None else value
