"""Configs of topics and brokers: described, and altered incrementally (KIP-339).

Requests about a broker's configs go to that broker, because no other answers them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from controller.cli.kafka.client import Client, refused
from controller.cli.kafka.errors import Refused
from controller.cli.kafka.values import Change, Op, Resource, ResourceType, Setting, Source, Synonym

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
