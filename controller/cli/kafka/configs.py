"""Settings of topics and brokers: read, and changed in steps (KIP-339).

Settings of a broker are asked of that broker, and changed there: no other answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final

import attrs
from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class Op(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Source(IntEnum):
    """Where a setting comes from, with Kafka's numbers."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


@attrs.frozen(order=True)
class Resource:
    """`name`: of a topic, or a broker's id in digits; "" is what holds for all brokers."""

    type: ResourceType
    name: str

    @property
    def at(self) -> int | None:
        """The broker that must be asked; None: any."""
        named = self.type in {ResourceType.BROKER, ResourceType.BROKER_LOGGER} and self.name
        return int(self.name) if named else None


@attrs.frozen
class Synonym:
    name: str
    value: str | None
    source: Source


@attrs.frozen
class Setting:
    """`value` is None where it is a secret (`is_sensitive`) or unset."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[Synonym, ...]


@attrs.frozen
class Change:
    """`value` is not looked at with Op.DELETE."""

    name: str
    op: Op
    value: str | None = None


_KNOWN: Final = frozenset(Source)


class Configs:
    """The part of `Cluster` that is about settings."""

    client: Client

    def describe_configs(
        self, resources: Iterable[Resource], *, synonyms: bool = False, names: Collection[str] | None = None
    ) -> dict[Resource, dict[str, Setting] | Refused]:
        """Settings by name (only those of `names`), in the server's order; or what it said instead."""
        found: dict[Resource, dict[str, Setting] | Refused] = {}
        keys = None if names is None else list(names)
        for broker, group in _by_broker(resources).items():
            form = DescribeConfigsRequest.DescribeConfigsResource
            request = DescribeConfigsRequest(
                resources=[form(resource_type=r.type, resource_name=r.name, configuration_keys=keys) for r in group],
                include_synonyms=synonyms,
                include_documentation=False,
            )
            for said in self.client.ask(request, broker).results:
                found[Resource(ResourceType(said.resource_type), said.resource_name)] = (
                    refused(said.error_code, said.error_message)
                    if said.error_code
                    else {each.name: _setting(each) for each in said.configs}
                )
        return found

    def alter_configs(
        self, changes: Mapping[Resource, Iterable[Change]], *, validate_only: bool = False
    ) -> dict[Resource, Refused]:
        """Changes them, each resource wholly or not at all. Gives back those that were refused."""
        failed = {}
        for broker, group in _by_broker(changes).items():
            form = IncrementalAlterConfigsRequest.AlterConfigsResource
            request = IncrementalAlterConfigsRequest(
                resources=[
                    form(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=[
                            form.AlterableConfig(
                                name=change.name,
                                config_operation=change.op,
                                value=None if change.op is Op.DELETE else change.value,
                            )
                            for change in changes[resource]
                        ],
                    )
                    for resource in group
                ],
                validate_only=validate_only,
            )
            for said in self.client.ask(request, broker, repeatable=False).responses:
                if said.error_code:
                    at = Resource(ResourceType(said.resource_type), said.resource_name)
                    failed[at] = refused(said.error_code, said.error_message)
        return failed


def _by_broker(resources: Iterable[Resource]) -> dict[int | None, list[Resource]]:
    found: dict[int | None, list[Resource]] = {}
    for resource in sorted(resources):
        found.setdefault(resource.at, []).append(resource)
    return found


def _setting(said: Any) -> Setting:
    synonyms = tuple(Synonym(s.name, s.value, _source(s.source)) for s in said.synonyms or ())
    return Setting(said.name, said.value, _source(said.config_source), said.is_sensitive, said.read_only, synonyms)


def _source(number: int) -> Source:
    return Source(number) if number in _KNOWN else Source.UNKNOWN
