"""Entities as requests name them, and the cluster's word on whether they exist."""

from __future__ import annotations

from typing import Final

from controller.cli.configs.asked import BROKERS, DEFAULT, LOGGERS, TOPICS, Entities
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.configs import Resource, ResourceType, Source
from controller.cli.kafka.errors import Failed

_TYPES: Final = {
    TOPICS: ResourceType.TOPIC,
    BROKERS: ResourceType.BROKER,
    LOGGERS: ResourceType.BROKER_LOGGER,
}


def resources(cluster: Cluster, of: Entities) -> list[Resource]:
    """All that are meant, in the order in which they are told: topics by name, brokers by id and then what holds for
    all. Raises Failed for one that is not there: brokers that do not live cannot be asked."""
    if of.name is None:
        names = [*cluster.topics()] if of.type == TOPICS else [*map(str, cluster.brokers()), DEFAULT]
    elif _is_there(cluster, of):
        names = [of.name if of.type == TOPICS or of.name == DEFAULT else str(int(of.name))]
    else:
        raise Failed(f"The {of.one} '{of.name}' does not exist.")
    return [Resource(_TYPES[of.type], name) for name in names]


def _is_there(cluster: Cluster, of: Entities) -> bool:
    assert of.name is not None
    if of.name == DEFAULT:
        return True
    return of.name in cluster.topics([of.name]) if of.type == TOPICS else int(of.name) in cluster.brokers()


def own_source(resource: Resource) -> Source | None:
    """Where the settings of that resource itself come from; None: all that are told are its own."""
    if resource.type is ResourceType.TOPIC:
        return Source.DYNAMIC_TOPIC_CONFIG
    if resource.type is ResourceType.BROKER:
        return Source.DYNAMIC_BROKER_CONFIG if resource.name else Source.DYNAMIC_DEFAULT_BROKER_CONFIG
    return None


def named(of: Entities, resource: Resource) -> dict[str, str | None]:
    """The entity, for machines. Null in the place of a name: what holds for all."""
    return {"entity_type": of.type, "entity_name": resource.name or None}
