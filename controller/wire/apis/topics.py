"""Topics are created, deleted, and given more partitions.

A topic that is named twice in one request is refused, and nothing is done to it, as in Kafka. Flaws that the admin API
cannot express, such as partitions that are not numbered from 0 on, are found here; all others are found by the rules.
The number of partitions of one request is limited here as well, because a few bytes of a number could otherwise create
any number of keys.

A deletion is answered when the name of the topic is free again, or when the time of the request is over: clients create
a topic of the same name right after the answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from ...model.config_requests import AlterConfigOp, ConfigEntry, ConfigResource, ConfigResourceType
from ...model.errors import ErrorCode
from ...model.requests import CreatedTopic, NewPartitions, NewTopic
from ...model.view import ClusterView
from ..calls import Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import as_uuid, ids_of, names_of
from ..security.acls import TOPIC
from ..slices import in_parts, sliced
from .answering import Outcome, outcome, outcomes, timeout_s
from .config_words import as_kafka
from .configs import SOURCES

Named = tuple[str | None, UUID | None]
"""A topic by its name or by its id."""

TWICE: Final = Outcome(None, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
UNKNOWN_TOPIC_ID: Final = Outcome(None, 100, "This server does not host this topic ID.")
TOPIC_AUTHORIZATION_FAILED: Final = 29
NEW_PARTITIONS_MAX: Final = 10_000
"""Of all topics of one request, as in Kafka."""
TOO_MANY: Final = Outcome(None, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
NOT_GONE: Final = Outcome(
    None, ErrorCode.REQUEST_TIMED_OUT, "The topic is being deleted; some brokers have not deleted its logs yet."
)
WITH_CONFIGS: Final = 5  # the first version of CreateTopics whose answer has settings
_LOOK_S: Final = 0.005
_LOOK_S_MAX: Final = 0.25


async def create_topics(call: Call, request: Request) -> Answer:
    """Each topic separately. The answer describes it as created, or, with `validate_only`, as it would be created."""
    if await _is_too_large(request.topics, call.controller.settings.num_partitions):
        return {"topics": [{"name": name, **TOO_MANY.fields} for name in dict.fromkeys(t.name for t in request.topics)]}
    asked = {topic.name: topic for topic in request.topics}
    done = dict.fromkeys(_twice(topic.name for topic in request.topics), TWICE)
    done |= {name: bad for name, topic in asked.items() if name not in done and (bad := _flaw(topic)) is not None}
    new = {name: _new_topic(topic) for name, topic in asked.items() if name not in done}
    results = call.admin.create_topics(new, validate_only=request.validate_only, timeout_s=timeout_s(request))
    done |= {name: _worded(said, name, new[name]) for name, said in (await outcomes(results)).items()}
    made = {name: new[name].configs for name in new if done[name].error_code == 0}
    settings = await _settings(call, made) if made and call.version >= WITH_CONFIGS else {}
    return {"topics": [_created(name, done[name], settings, is_made=not request.validate_only) for name in asked]}


async def _is_too_large(topics: Iterable[Any], by_default: int) -> bool:
    count = 0
    async for topic in sliced(topics):
        count += _size(topic, by_default)
        if count > NEW_PARTITIONS_MAX:
            return True
    return False


def _size(topic: Any, by_default: int) -> int:
    """The number of partitions that a topic would get. Each topic counts as one at least: one that is refused is work,
    too."""
    if topic.assignments:
        return len(topic.assignments)
    return by_default if topic.num_partitions == -1 else max(1, int(topic.num_partitions))


def _twice(names: Iterable[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def _flaw(topic: Any) -> Outcome | None:
    """The flaw of a requested topic, without regard to the cluster."""
    ids = [assignment.partition_index for assignment in topic.assignments]
    for partition, times in Counter(ids).items():
        if times > 1:
            return _misassigned(f"Found multiple manual partition assignments for partition {partition}")
    if set(ids) != set(range(len(ids))):
        return _misassigned("partitions should be a consecutive 0-based integer sequence")
    null = [config.name for config in topic.configs if config.value is None]
    if null:
        message = f"Null value not supported for topic configs: {','.join(null):.300}"
        return Outcome(None, ErrorCode.INVALID_CONFIG, message)
    return None


def _misassigned(message: str) -> Outcome:
    return Outcome(None, ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _new_topic(topic: Any) -> NewTopic:
    assignments = {assignment.partition_index: assignment.broker_ids for assignment in topic.assignments}
    configs = {config.name: config.value for config in topic.configs}
    return NewTopic(topic.num_partitions, topic.replication_factor, assignments or None, configs)


def _worded(said: Outcome, name: str, new: NewTopic) -> Outcome:
    """An error about a setting, with the message of the requests that alter settings."""
    if said.error_code != ErrorCode.INVALID_CONFIG:
        return said
    ops = [AlterConfigOp(key, value) for key, value in new.configs.items()]
    return as_kafka(said, ConfigResource(ConfigResourceType.TOPIC, name), ops)


async def _settings(call: Call, made: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Any]]:
    """The fields with the settings of each topic; a client that may not see them gets the topic without them."""
    seen = {name: configs for name, configs in made.items() if call.may("DESCRIBE_CONFIGS", f"{TOPIC}{name}")}
    told = await outcome(call.admin.describe_new_topics(seen))
    is_about_rights = told.error_code in {0, ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    code = TOPIC_AUTHORIZATION_FAILED if is_about_rights else told.error_code
    unseen = {name: {"topic_config_error_code": code, "configs": None} for name in made}
    described: dict[str, Mapping[str, ConfigEntry]] = told.value or {}
    return unseen | {name: {"configs": [_config(entry) for entry in each.values()]} for name, each in described.items()}


def _config(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": False,
        "config_source": SOURCES[entry.source],
        "is_sensitive": entry.is_sensitive,
    }


def _created(name: str, done: Outcome, settings: Mapping[str, dict[str, Any]], *, is_made: bool) -> dict[str, Any]:
    fields = {"name": name, "num_partitions": -1, "replication_factor": -1, "configs": [], **done.fields}
    topic: CreatedTopic | None = done.value
    if topic is None:
        return fields
    size = {"num_partitions": len(topic.assignments), "replication_factor": len(topic.assignments[0])}
    identity = {"topic_id": as_uuid(topic.topic_id)} if is_made else {}
    return fields | size | identity | settings.get(name, {})


async def create_partitions(call: Call, request: Request) -> Answer:
    """Each topic separately; new partitions as assigned, or by the continued rotation."""
    asked = {topic.name: topic for topic in request.topics}
    grown = await outcome(_growth(call, asked))
    refused = grown if grown.error_code else TOO_MANY if grown.value > NEW_PARTITIONS_MAX else None
    if refused is not None:
        return {"results": [{"name": name, **refused.fields} for name in asked]}
    done = dict.fromkeys(_twice(topic.name for topic in request.topics), TWICE)
    new = {name: _new_partitions(topic) for name, topic in asked.items() if name not in done}
    results = call.admin.create_partitions(new, validate_only=request.validate_only, timeout_s=timeout_s(request))
    done |= await outcomes(results)
    return {"results": [{"name": name, **done[name].fields} for name in asked]}


async def _growth(call: Call, asked: Mapping[str, Any]) -> int:
    """How many partitions the topics would gain by growing to the requested counts."""
    counts = ((name, topic.count) for name, topic in asked.items())
    return sum([await call.query(_grown, part) async for part in in_parts(counts)])


def _grown(counts: Iterable[tuple[str, int]], view: ClusterView) -> int:
    return sum(max(0, count - view.partition_count(name)) for name, count in counts if view.topic(name) is not None)


def _new_partitions(topic: Any) -> NewPartitions:
    given = topic.assignments
    return NewPartitions(topic.count, None if given is None else [assignment.broker_ids for assignment in given])


async def delete_topics(call: Call, request: Request) -> Answer:
    """By name, or by id (version 6). A topic that is named twice, in either way, is not deleted."""
    end_s = asyncio.get_running_loop().time() + timeout_s(request)
    asked: list[Named]
    if call.version >= 6:
        asked = [(topic.name, topic.topic_id) async for topic in sliced(request.topics)]
    else:
        asked = [(name, None) async for name in sliced(request.topic_names)]
    by_name, by_id = [n for n, _ in asked if n is not None], [i for _, i in asked if i is not None]
    told = await outcome(_ids(call, by_name, by_id))
    if told.error_code:
        return {"responses": [{"name": n, "topic_id": i, **told.fields} for n, i in dict.fromkeys(asked)]}
    ids: dict[str, UUID | None] = told.value
    names = {topic_id: name for name, topic_id in ids.items()}
    rows = {key: _which(*key, names) for key in asked}
    twice = _twice(rows[key].value for key in asked if rows[key].value is not None)
    rows = {key: TWICE if row.value in twice else row for key, row in rows.items()}
    wanted = [row.value for row in rows.values() if row.value is not None]
    done = await outcomes(call.admin.delete_topics(wanted, timeout_s=timeout_s(request)))
    done |= await _not_free(call, [name for name, each in done.items() if each.error_code == 0], end_s)
    return {"responses": [_deleted(key, row, done, ids) for key, row in rows.items()]}


async def _ids(call: Call, names: Iterable[str], ids: Iterable[UUID]) -> dict[str, UUID | None]:
    """The ids of the existing topics with these names or ids."""
    found: dict[str, UUID | None] = {name: topic_id for topic_id, name in (await names_of(call, ids)).items()}
    async for part in in_parts(names):
        found |= await call.query(ids_of, part)
    return found


async def _not_free(call: Call, names: list[str], end_s: float) -> dict[str, Outcome]:
    """Wait until the topics are deleted, at most until `end_s` (time of the event loop). Returns an error for each that
    is not; its deletion continues."""
    pause_s = _LOOK_S
    while names:
        told = await outcome(call.query(_deleting, names))
        if told.error_code:
            return dict.fromkeys(names, told)
        names, left_s = told.value, end_s - asyncio.get_running_loop().time()
        if not names or left_s <= 0:
            break
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LOOK_S_MAX)
    return dict.fromkeys(names, NOT_GONE)


def _deleting(names: list[str], view: ClusterView) -> list[str]:
    return [name for name in names if view.is_deleting(name)]


def _which(name: str | None, topic_id: UUID | None, names: Mapping[UUID | None, str]) -> Outcome:
    if topic_id is None:
        missing = "Neither topic name nor id were specified."
        return Outcome(name) if name is not None else Outcome(None, ErrorCode.INVALID_REQUEST, missing)
    if name is not None:
        return Outcome(None, ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    return Outcome(names[topic_id]) if topic_id in names else UNKNOWN_TOPIC_ID


def _deleted(key: Named, row: Outcome, done: Mapping[str, Outcome], ids: Mapping[str, UUID | None]) -> dict[str, Any]:
    name, topic_id = key
    if row.value is None:
        return {"name": name, "topic_id": topic_id, **row.fields}
    return {"name": row.value, "topic_id": ids.get(row.value), **done[row.value].fields}


TABLE: Final = (
    Api(
        messages_of("CreateTopics", range(8)),
        create_topics,
        on_rows("CREATE", "topics", "topics", or_on_cluster="CREATE"),
    ),
    Api(messages_of("DeleteTopics", range(7)), delete_topics, on_rows("DELETE", "topics topic_names", "responses")),
    Api(messages_of("CreatePartitions", range(4)), create_partitions, on_rows("ALTER", "topics", "results")),
)
