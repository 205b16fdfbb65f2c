"""Which entity `kedge kafka configs` is about, and which changes: options by Kafka's rules, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from ...model import numerals
from ..kafka.errors import Failed
from ..kafka.options import repeated
from ..kafka.properties import read_properties
from ..kafka.values import Resource, ResourceType, Source
from ..printing import ids

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
LOGGERS: Final = "broker-loggers"
TYPES: Final = (TOPICS, BROKERS, LOGGERS)
DEFAULT: Final = ""
_FLAGS: Final = {"topic": TOPICS, "broker": BROKERS, "broker_logger": LOGGERS}


@attrs.frozen
class Entities:
    """`name`: None is all of that type, DEFAULT what holds for all brokers."""

    type: str
    name: str | None

    @property
    def one(self) -> str:
        return self.type.removesuffix("s")


def entities(given: Mapping[str, Any], *, altered: bool) -> Entities:
    """Whose settings the options name. Raises UsageError, in Kafka's words where it has some."""
    by_flag = [Entities(type_, given[option]) for option, type_ in _FLAGS.items() if given[option] is not None]
    if any(found.name == "" for found in by_flag):
        raise click.UsageError("An entity name must not be empty")
    by_flag += [Entities(BROKERS, DEFAULT)] if given["broker_defaults"] else []
    general = given["entity_type"] or given["entity_name"] is not None or given["entity_default"]
    if by_flag and general:
        raise click.UsageError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    found = _one(by_flag, "At least one entity type must be specified") if by_flag else _general(given)
    _check_name(found)
    if altered and found.name is None:
        needed = "name or default entity" if found.type == BROKERS else "name"
        raise click.UsageError(f"An entity {needed} must be specified with --alter of {found.type}")
    if found.type == LOGGERS and found.name is None:
        raise click.UsageError(f"An entity name must be specified with --describe of {found.type}")
    return found


def _general(given: Mapping[str, Any]) -> Entities:
    type_ = _one(given["entity_type"], "At least one entity type must be specified")
    if type_ not in TYPES:
        known = ", ".join(TYPES)
        raise click.UsageError(
            f"Invalid entity type {type_}, the entity type must be one of {known} with a --bootstrap-server argument"
        )
    if given["entity_default"]:
        if given["entity_name"] is not None:
            raise click.UsageError("Only one of --entity-name and --entity-default can be given")
        return Entities(type_, DEFAULT)
    if given["entity_name"] == "":
        raise click.UsageError("An entity name must not be empty")
    return Entities(type_, given["entity_name"])


def _one(found: Sequence[Any], none: str) -> Any:
    if not found:
        raise click.UsageError(none)
    if len(found) > 1:
        raise click.UsageError("Only one entity type can be given")
    return found[0]


def _check_name(found: Entities) -> None:
    name = found.name
    if name is None:
        return
    if name == DEFAULT:
        if found.type != BROKERS:
            raise click.UsageError(f"There is no default of {found.type}: an entity name must be specified")
    elif found.type != TOPICS and _broker(name) is None:
        raise click.UsageError(
            f"The entity name for {found.type} must be a valid integer broker id, but it is: {name:.80}"
        )


_BRACKETS: Final = re.compile(r"\[[^\]]*\]?")
_CLOSED: Final = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*")
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_FORM: Final = 'Invalid entity config: all configs to be added must be in the format "key=val".'


@attrs.frozen
class Changes:
    """What is to be set, and names of what is to go: back to what holds without."""

    added: Mapping[str, str]
    deleted: tuple[str, ...]


def changes(added: Sequence[str], file: Path | None, deleted: Sequence[str]) -> Changes:
    """What the options --add-config, --add-config-file and --delete-config ask for. Raises Failed."""
    pairs = [pair for text in added for pair in parse_pairs(text)]
    if file is not None:
        pairs += read_properties(file).items()
    names = [name.strip() for text in deleted for name in text.split(",")]
    both = [*(name for name, _ in pairs), *names]
    for name in both:
        if _NAME.fullmatch(name) is None:
            raise Failed(f"Invalid character found for config key: {name:.200}" if name else "A config key is empty")
    if twice := repeated(both):
        raise Failed(f"Config(s) given more than once: {ids(twice)}")
    if not both:
        raise Failed(f"{file}: the file has no configs" if file is not None else _FORM)
    return Changes(dict(pairs), tuple(names))


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Names and values of `k=v,k=[a,b]`: brackets hold commas and equal signs together, and go. Raises Failed."""
    found = []
    if _CLOSED.fullmatch(text) is None:
        raise Failed("Unbalanced brackets in --add-config")  # the text may have a password
    parts = _split(text, ",")
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        pair = _split(part, "=")
        if len(pair) != 2 or not pair[0].strip():
            raise Failed(_FORM)
        found.append((pair[0].strip(), pair[1].replace("[", "").replace("]", "").strip()))
    if not found:
        raise Failed(_FORM)
    return found


def _split(text: str, at: str) -> list[str]:
    held = [(found.start(), found.end()) for found in _BRACKETS.finditer(text)]
    parts, begin, block = [], 0, 0
    for position, character in enumerate(text):
        while block < len(held) and held[block][1] <= position:
            block += 1
        inside = block < len(held) and held[block][0] <= position
        if character == at and not inside:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


_TYPES: Final = {
    TOPICS: ResourceType.TOPIC,
    BROKERS: ResourceType.BROKER,
    LOGGERS: ResourceType.BROKER_LOGGER,
}


def resources(cluster: Cluster, of: Entities) -> list[Resource]:
    """All that are meant, in the order in which they are printed: topics by name, brokers by id and then what holds for
    all. Raises Failed for one that is not there: brokers that do not live cannot be asked."""
    if of.name is None:
        names = [*cluster.topics()] if of.type == TOPICS else [*map(str, cluster.brokers()), DEFAULT]
    elif _is_there(cluster, of):
        names = [of.name if of.type == TOPICS or of.name == DEFAULT else str(_broker(of.name))]
    else:
        raise Failed(f"The {of.one} '{of.name}' does not exist.")
    return [Resource(_TYPES[of.type], name) for name in names]


def _is_there(cluster: Cluster, of: Entities) -> bool:
    assert of.name is not None
    if of.name == DEFAULT:
        return True
    return of.name in cluster.topics([of.name]) if of.type == TOPICS else _broker(of.name) in cluster.brokers()


def _broker(name: str) -> int | None:
    return numerals.whole(name, 0, numerals.INT_MAX)


def own_source(resource: Resource) -> Source | None:
    """The source of the configs of the resource itself; None: all of its configs are its own."""
    if resource.type is ResourceType.TOPIC:
        return Source.DYNAMIC_TOPIC_CONFIG
    if resource.type is ResourceType.BROKER:
        return Source.DYNAMIC_BROKER_CONFIG if resource.name else Source.DYNAMIC_DEFAULT_BROKER_CONFIG
    return None


def named(of: Entities, resource: Resource) -> dict[str, str | None]:
    """The entity, for machines. Null in the place of a name: what holds for all."""
    return {"entity_type": of.type, "entity_name": resource.name or None}
