"""The right that each API requires, as in Kafka's brokers, and the answer to a client without it.

* The row of an API decides, not its handler. Handlers that only describe (Metadata, DescribeTopicPartitions) leave out
  themselves what the client may not see.
* Of a request for several topics or settings the allowed ones are done, and each of the others is refused in its place
  in the answer.
* A client without the right to see a topic does not learn whether it exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...model.errors import ClusterAuthorizationFailed
from ..calls import CLUSTER_ACTION, OPEN, Access, Api, Call
from ..codec import fields_of
from ..mirrored import mirrored
from ..protocol import Answer, Request
from ..reading import names_of
from ..slices import sliced
from .acls import BROKER, CLUSTER, TOPIC

TOPIC_REFUSED: Final = 29
CLUSTER_REFUSED: Final = 31
_MESSAGES: Final = {TOPIC_REFUSED: "Topic authorization failed.", CLUSTER_REFUSED: "Cluster authorization failed."}
_TOPIC_TYPE: Final = 2  # of a resource with settings; every other type belongs to the cluster


async def answered(api: Api, call: Call, request: Request) -> Answer | None:
    """The handler's answer for the allowed rows, and refusals of all others."""
    access = api.access
    on_cluster = access.or_on_cluster if access.by_row else access.operation
    whole = f"{BROKER}{request.broker_id}" if access.by_broker else CLUSTER
    if access is OPEN or access.by_handler or (on_cluster and _may(call, on_cluster, whole)):
        return await api.handler(call, request)
    if access.or_on_some_topic and call.may(access.or_on_some_topic, TOPIC):
        return await api.handler(call, request)
    if not access.by_row:
        return await _refusal(api, access, call.version, request)
    fields = fields_of(request)
    asked = next((name for name in access.asked if fields[name].for_version_q(call.version)), None)
    rows = (None if asked is None else getattr(request, asked)) or []
    names = await _names(call, rows)
    kept, refused = [], []
    async for row in sliced(rows):
        code = _code(call, access.operation, row, names)
        if code:
            refused.append((row, code))
        else:
            kept.append(row)
    if asked is None or not refused:
        return await api.handler(call, request)
    inner = fields_of(api.messages.response)[access.answered].fields
    made = [await mirrored(inner, call.version, row, code, _MESSAGES[code]) async for row, code in sliced(refused)]
    if not kept:
        return {access.answered: made}
    setattr(request, asked, kept)
    answer = await api.handler(call, request)
    return None if answer is None else {**answer, access.answered: [*answer.get(access.answered, ()), *made]}


def _may(call: Call, operation: str, resource: str) -> bool:
    """A right on the cluster, or on a broker id. The admin API asks the controller's own authorizer; requests of
    brokers ask it here."""
    if not call.may(operation, resource):
        return False
    try:
        if operation == CLUSTER_ACTION:
            call.admin.authorize(operation)
    except ClusterAuthorizationFailed:
        return False
    return True


async def _names(call: Call, rows: list[Any]) -> Mapping[Any, str]:
    """The names of topics that are requested by their ids."""
    ids = [i async for row in sliced(rows) if (i := getattr(row, "topic_id", None)) and _name(row) is None]
    return await names_of(call, ids)


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


async def _refusal(api: Api, access: Access, version: int, request: Request) -> Answer:
    """The error of the whole, and of each row. Where an old version has no field for it, there is none, as in Kafka."""
    named = ("error_code", "error_message", access.answered)
    fields = fields_of(api.messages.response)
    kept = {name: field for name, field in fields.items() if name in named}
    return await mirrored(kept, version, request, CLUSTER_REFUSED, _MESSAGES[CLUSTER_REFUSED])
