"""Automatic creation of topics that a Metadata request names, if its client allows that.

Rules (Kafka's `auto.create.topics.enable`)
* Before version 4 of Metadata every client allows it. A client needs CREATE on the topic or on the cluster.
* A topic gets as many partitions and replicas as the controller has by default. A name that Kafka does not allow, and
  an internal topic, is not created.
* The answer has the new topic, which may have no leader yet: clients then ask again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ...model.requests import NewTopic
from ...model.view import ClusterView
from ..apis.answering import outcomes
from ..calls import Api, Call
from ..messages import MetadataRequest
from ..protocol import Answer, Request
from ..reading import INTERNAL
from ..security.acls import CLUSTER, TOPIC
from ..slices import in_parts, sliced

CREATED_MAX: Final = 100
"""Of one request."""
_LETS_SINCE: Final = 4
_CREATE_S: Final = 30.0
_BY_DEFAULT: Final = -1
_MISSING: Final = 3
_LATER: Final = (0, 7, 36)
"""Created, or will be: none, REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS."""


def with_creation(base: Mapping[int, Api]) -> dict[int, Api]:
    """The APIs of `base`, with a Metadata that creates topics."""
    metadata = base[MetadataRequest.API_KEY]

    async def creating(call: Call, request: Request) -> Answer | None:
        missing: list[str] = []
        async for names in in_parts(await _named(call, request)):
            missing += await call.query(_missing, names)
            if len(missing) >= CREATED_MAX:
                break
        if not missing:
            return await metadata.handler(call, request)
        new = {name: NewTopic(_BY_DEFAULT, _BY_DEFAULT) for name in missing[:CREATED_MAX]}
        created = await outcomes(call.admin.create_topics(new, timeout_s=_CREATE_S))
        failed = {name: one.error_code for name, one in created.items() if one.error_code not in _LATER}
        return await _with_errors(await metadata.handler(call, request), failed)

    return {**base, MetadataRequest.API_KEY: attrs.evolve(metadata, handler=creating)}


async def _with_errors(answer: Answer | None, failed: Mapping[str, int]) -> Answer | None:
    """Report why a topic was not created: clients keep asking for one that is only missing."""
    async for row in sliced((answer or {}).get("topics", ())):
        if row["error_code"] == _MISSING and row["name"] in failed:
            row["error_code"] = failed[row["name"]]
    return answer


async def _named(call: Call, request: Request) -> list[str]:
    if call.version >= _LETS_SINCE and not request.allow_auto_topic_creation:
        return []
    names = {topic.name: None async for topic in sliced(request.topics or ()) if topic.name is not None}
    return [name async for name in sliced(names) if name not in INTERNAL and _may_create(call, name)]


def _may_create(call: Call, name: str) -> bool:
    return call.may("CREATE", CLUSTER) or call.may("CREATE", TOPIC + name)


def _missing(names: list[str], view: ClusterView) -> list[str]:
    return [name for name in names if view.topic(name) is None]
