"""Settings of topics and brokers, described and altered.

A broker is named by its id, all brokers by an empty name. One of Kafka's brokers answers for itself alone; here every
address answers for all. Every possible setting is listed, also where it is not set: kafka-python refuses to alter
others, and Kafka's own tool of 3.9 sends back what it finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...admin import Results
from ...model.config_requests import (
    AlterConfigOp,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    OpType,
)
from ...model.configs import ConfigKind
from ...model.errors import ErrorCode
from ...model.view import ClusterView
from ..calls import Api, Call, on_cluster, on_rows
from ..errors import Garbage
from ..messages import messages_of
from ..protocol import Answer, Request
from ..security.acls import TOPIC
from ..slices import in_parts, sliced
from .answering import Outcome, beside, outcome, outcomes
from .config_words import as_kafka

# Kafka's numbers of resource types, of sources of a value, of types of a value, and of operations.
TYPES: Final = {2: ConfigResourceType.TOPIC, 4: ConfigResourceType.BROKER}
UNSUPPORTED_VERSION: Final = 35
_METRICS: Final = 16
LISTED: Final = (*TYPES, 8, _METRICS, 32)
"""The types that Kafka lists: besides these, loggers of brokers, subscriptions to metrics of clients, and groups."""
SOURCES: Final = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: 1,
    ConfigSource.DYNAMIC_BROKER_CONFIG: 2,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: 3,
    ConfigSource.STATIC_BROKER_CONFIG: 4,
    ConfigSource.DEFAULT_CONFIG: 5,
}
KINDS: Final = {
    None: 0,
    ConfigKind.BOOLEAN: 1,
    ConfigKind.STRING: 2,
    ConfigKind.INT: 3,
    ConfigKind.LONG: 5,
    ConfigKind.DOUBLE: 6,
    ConfigKind.LIST: 7,
    ConfigKind.PASSWORD: 9,
}
OPS: Final = {0: OpType.SET, 1: OpType.DELETE, 2: OpType.APPEND, 3: OpType.SUBTRACT}

Key = tuple[int, str]
"""A resource as requests name it: its type's number, its name."""


def _refuse(message: str) -> Outcome:
    return Outcome(None, ErrorCode.INVALID_REQUEST, message)


# --- described


async def describe_configs(call: Call, request: Request) -> Answer:
    """The settings of each resource: all, or those that are named and exist."""
    asked = {_key(one): one async for one in sliced(request.resources)}
    said: dict[Key, Outcome] = {}
    async for part in in_parts(asked):
        resources = _resources(part)
        found = await outcomes(call.admin.describe_configs(resources.values()))
        said |= {key: as_kafka(found[resource], resource, what="Broker") for key, resource in resources.items()}
        said |= {key: _refuse(f"Unsupported resource type: {key[0]}") for key in part if key not in resources}
    return {"results": [_described(request, key, one, said[key]) async for key, one in sliced(asked.items())]}


def _described(request: Request, key: Key, asked: Any, said: Outcome) -> dict[str, Any]:
    entries: Mapping[str, ConfigEntry] = said.value or {}
    wanted = None if asked.configuration_keys is None else set(asked.configuration_keys)
    shown = [entry for name, entry in sorted(entries.items()) if wanted is None or name in wanted]
    return {**_named(key), **said.fields, "configs": [_entry(request, entry) for entry in shown]}


def _entry(request: Request, entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.is_read_only,
        "config_source": SOURCES[entry.source],
        "is_default": entry.is_default,
        "is_sensitive": entry.is_sensitive,
        "synonyms": [
            {"name": one.name, "value": one.value, "source": SOURCES[one.source]}
            for one in (entry.synonyms if request.include_synonyms else ())
        ],
        "config_type": KINDS[entry.kind],
        "documentation": entry.documentation if request.include_documentation else None,
    }


async def list_config_resources(call: Call, request: Request) -> Answer:
    """The resources that may have settings: topics whose settings the client may see, and live brokers. Version 0 is
    only about subscriptions to clients' metrics; of these, of loggers and of groups there are none."""
    asked = set(request.resource_types or LISTED) if call.version else {_METRICS}
    if not asked <= set(LISTED):
        return {"error_code": UNSUPPORTED_VERSION, "config_resources": []}
    found = await outcome(call.query(_there))
    if found.error_code:
        return {"error_code": found.error_code, "config_resources": []}
    there: dict[ConfigResourceType, list[str]] = found.value
    every = there[ConfigResourceType.TOPIC]
    topics = [name async for name in sliced(every) if call.may("DESCRIBE_CONFIGS", f"{TOPIC}{name}")]
    there = there | {ConfigResourceType.TOPIC: topics}
    rows = [(number, name) for number, kind in TYPES.items() if number in asked for name in there[kind]]
    return {"error_code": 0, "config_resources": [_named(row) for row in rows]}


def _there(view: ClusterView) -> dict[ConfigResourceType, list[str]]:
    """The question for `Controller.query`."""
    return {
        ConfigResourceType.TOPIC: sorted(name for name in view.topic_names() if not view.is_deleting(name)),
        ConfigResourceType.BROKER: [str(broker) for broker in sorted(view.brokers)],
    }


# --- altered


async def alter_configs(call: Call, request: Request) -> Answer:
    """Each resource then has the named settings, and no others."""
    said: dict[Key, list[AlterConfigOp]] = {}
    async for one in sliced(request.resources):
        said[_key(one)] = [AlterConfigOp(_text(each.name), each.value) async for each in sliced(one.configs)]

    def alter(ops: Mapping[ConfigResource, Sequence[AlterConfigOp]]) -> Results[ConfigResource, None]:
        new = {one: {op.name: op.value for op in its if op.value is not None} for one, its in ops.items()}
        return call.admin.alter_configs(new, validate_only=request.validate_only)

    return await _altered(call, request, said, {}, alter)


async def incremental_alter_configs(call: Call, request: Request) -> Answer:
    """Single settings are altered. The value of a DELETE is ignored: tools send none, an empty one, or the old one."""
    said: dict[Key, list[AlterConfigOp]] = {}
    unknown: dict[Key, Outcome] = {}
    async for one in sliced(request.resources):
        said[_key(one)] = []
        async for each in sliced(one.configs):
            op = OPS.get(each.config_operation)
            if op is None:
                unknown[_key(one)] = _refuse(f"Unknown operations type {each.config_operation}")
            else:
                value = None if op is OpType.DELETE else each.value
                said[_key(one)].append(AlterConfigOp(_text(each.name), value, op))

    def alter(ops: Mapping[ConfigResource, Sequence[AlterConfigOp]]) -> Results[ConfigResource, None]:
        return call.admin.incremental_alter_configs(ops, validate_only=request.validate_only)

    return await _altered(call, request, said, unknown, alter)


async def _altered(
    call: Call,
    request: Request,
    said: Mapping[Key, Sequence[AlterConfigOp]],
    refused: Mapping[Key, Outcome],
    alter: Callable[[Mapping[ConfigResource, Sequence[AlterConfigOp]]], Results[ConfigResource, None]],
) -> Answer:
    """`refused`: resources that must not be tried."""
    size = sum([len(ops) + 1 async for ops in sliced(said.values())])
    outcome: dict[Key, Outcome] = dict(refused)

    def begin() -> tuple[dict[Key, ConfigResource], Results[ConfigResource, None]]:
        times = Counter(_key(one) for one in request.resources)
        problems = ((key, _problem(times[key], ops)) for key, ops in said.items())
        outcome.update((key, _refuse(problem)) for key, problem in problems if problem is not None)
        resources = _resources(key for key in said if key not in outcome)
        return resources, alter({resource: said[key] for key, resource in resources.items()})

    def answer() -> list[dict[str, Any]]:
        outcome.update((key, as_kafka(done[one], one, said[key])) for key, one in resources.items())
        outcome.update((key, _refuse(f"Unknown resource type {key[0]}")) for key in said if key not in outcome)
        return [{**_named(key), **outcome[key].fields} for key in said]

    resources, results = await beside(call, begin, size)
    done = await outcomes(results)
    return {"responses": await beside(call, answer, size)}


def _problem(times: int, ops: Sequence[AlterConfigOp]) -> str | None:
    """The flaw of a request, without regard to the cluster, with Kafka's message."""
    if times > 1:
        return "Each resource must appear at most once."
    if len({op.name for op in ops}) < len(ops):
        return "Error due to duplicate config keys"
    empty = [op.name for op in ops if op.value is None and op.op is not OpType.DELETE]
    return f"Null value not supported for : {','.join(empty)}" if empty else None


# --- resources


def _resources(keys: Any) -> dict[Key, ConfigResource]:
    """The resources whose type has settings here."""
    return {key: ConfigResource(TYPES[key[0]], key[1]) for key in keys if key[0] in TYPES}


def _key(one: Any) -> Key:
    return one.resource_type, _text(one.resource_name)


def _named(key: Key) -> dict[str, Any]:
    return {"resource_type": key[0], "resource_name": key[1]}


def _text(value: str | None) -> str:
    """A name; the codec accepts null where Kafka's schemas do not."""
    if value is None:
        raise Garbage("null in the place of a name")
    return value


TABLE: Final = (
    Api(
        messages_of("DescribeConfigs", range(5)),
        describe_configs,
        on_rows("DESCRIBE_CONFIGS", "resources", "results"),
        reads=True,
    ),
    Api(messages_of("AlterConfigs", range(3)), alter_configs, on_rows("ALTER_CONFIGS", "resources", "responses")),
    Api(
        messages_of("IncrementalAlterConfigs", range(2)),
        incremental_alter_configs,
        on_rows("ALTER_CONFIGS", "resources", "responses"),
    ),
    Api(
        messages_of("ListConfigResources", range(2)), list_config_resources, on_cluster("DESCRIBE_CONFIGS"), reads=True
    ),
)
