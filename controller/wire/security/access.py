"""The right that each API requires, as in Kafka's brokers, and the answer to a client without it.

* The row of an API decides, not its handler. Handlers that only describe (Metadata, DescribeTopicPartitions) leave out
  themselves what the client may not see.
* Of a request for several topics or settings the allowed ones are done, and each of the others is refused in its place
  in the answer.
* A client without the right to see a topic does not learn whether it exists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from controller.model.errors import ClusterAuthorizationFailed
from controller.wire.calls import CLUSTER_ACTION, OPEN, Access, Api, Call
from controller.wire.protocol import Answer, Request
from controller.wire.reading import cluster
from controller.wire.security.acls import CLUSTER, TOPIC

TOPIC_REFUSED: Final = 29
CLUSTER_REFUSED: Final = 31
_MESSAGES: Final = {TOPIC_REFUSED: "Topic authorization failed.", CLUSTER_REFUSED: "Cluster authorization failed."}
_TOPIC_TYPE: Final = 2  # of a resource with settings; every other type belongs to the cluster


async def answered(api: Api, call: Call, request: Request) -> Answer | None:
    """The handler's answer for the allowed rows, and refusals of all others."""
    access = api.access
    on_cluster = access.or_on_cluster if access.by_row else access.operation
    if access is OPEN or access.by_handler or (on_cluster and _may(call, on_cluster)):
        return await api.handler(call, request)
    fields = request._struct.fields  # noqa: SLF001 - as in protocol.build
    asked = next((name for name in access.asked if fields[name].for_version_q(call.version)), None)
    rows = (None if asked is None else getattr(request, asked)) or []
    if not access.by_row:
        within = [topic for row in rows for topic in getattr(row, "topics", ())]  # AlterReplicaLogDirs: by directory
        return _refusal(api, access, call.version, within or rows)
    names = await _names(call, rows)
    codes = [(row, _code(call, access.operation, row, names)) for row in rows]
    kept = [row for row, code in codes if not code]
    if asked is None or len(kept) == len(rows):
        return await api.handler(call, request)
    inner = api.messages.response._struct.fields[access.answered].fields  # noqa: SLF001 - as above
    made = [_mirrored(inner, call.version, row, code) for row, code in codes if code]
    if not kept:
        return {access.answered: made}
    setattr(request, asked, kept)
    answer = await api.handler(call, request)
    return None if answer is None else {**answer, access.answered: [*answer.get(access.answered, ()), *made]}


def _may(call: Call, operation: str) -> bool:
    """A right on the cluster. The admin API asks the controller's own authorizer; requests of brokers ask it here."""
    if not call.may(operation, CLUSTER):
        return False
    try:
        if operation == CLUSTER_ACTION:
            call.admin.authorize(operation)
    except ClusterAuthorizationFailed:
        return False
    return True


async def _names(call: Call, rows: list[Any]) -> Mapping[Any, str]:
    """The names of topics that are requested by their ids."""
    ids = tuple(i for row in rows if (i := getattr(row, "topic_id", None)) and _name(row) is None)
    if not ids:
        return {}
    found = await asyncio.wrap_future(call.controller.query(cluster((), ids)))
    return {topic.topic_id: topic.name for topic in found.topics}


def _name(row: Any) -> str | None:
    if isinstance(row, str):
        return row
    name = getattr(row, "name", None)
    return getattr(row, "topic", None) if name is None else name


def _code(call: Call, operation: str, row: Any, names: Mapping[Any, str]) -> int:
    """The error code of this row; 0: it is allowed."""
    kind = getattr(row, "resource_type", None)
    if kind is not None and kind != _TOPIC_TYPE:
        return 0 if call.may(operation, CLUSTER) else CLUSTER_REFUSED
    name = _name(row) if kind is None else row.resource_name
    if name is None:
        name = names.get(getattr(row, "topic_id", None))
    return 0 if name is None or call.may(operation, TOPIC + name) else TOPIC_REFUSED


def _refusal(api: Api, access: Access, version: int, rows: list[Any]) -> Answer:
    """The error of the whole, and of each row. Where an old version has no field for it, there is none, as in Kafka."""
    fields = api.messages.response._struct.fields  # noqa: SLF001 - as above
    whole = {"error_code": CLUSTER_REFUSED, "error_message": _MESSAGES[CLUSTER_REFUSED]}
    answer: dict[str, Any] = {k: v for k, v in whole.items() if k in fields and fields[k].for_version_q(version)}
    if access.answered:
        inner = fields[access.answered].fields
        answer[access.answered] = [_mirrored(inner, version, row, CLUSTER_REFUSED) for row in rows]
    return answer


def _mirrored(fields: Mapping[str, Any], version: int, row: Any, code: int) -> dict[str, Any]:
    """A row of the answer that names the same as the row of the request, with the refusal."""
    made: dict[str, Any] = {}
    for name, field in fields.items():
        if not field.for_version_q(version):
            continue
        if name == "error_code":
            made[name] = code
        elif name == "error_message":
            made[name] = _MESSAGES[code]
        elif field.is_struct_array():
            if "error_code" in field.fields:
                made[name] = [_mirrored(field.fields, version, each, code) for each in _inner(row)]
            elif isinstance(same := getattr(row, name, None), list):  # what names a quota
                made[name] = [each.to_dict() for each in same]
        elif (value := _same(row, name)) is not None or field.nullable_for_version_q(version):
            made[name] = value
    return made


def _inner(row: Any) -> list[Any]:
    """The list of a row: its partitions, under whatever name."""
    found = (getattr(row, name, None) for name in ("partitions", "partition_data", "partition_index"))
    return next((value for value in found if isinstance(value, list)), [])


def _same(row: Any, name: str) -> Any:
    """The value of a field in the request; a topic or a partition may be given alone there. The leader epoch that is
    asked about does not name a partition: the answer has another one, or none."""
    if name == "leader_epoch":
        return None
    if isinstance(row, str):
        return row if name == "name" else None
    if isinstance(row, int):
        return row if name.startswith("partition") else None
    value = getattr(row, name, None)
    other = {"partition_index": "partition", "topic_name": "name"}.get(name)
    return getattr(row, other, None) if value is None and other is not None else value
