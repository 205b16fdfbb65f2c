"""Valid configs, and the effective value of each: its own, that of all brokers, the host's, or the default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import attrs

from ..model.config_requests import ConfigEntry, ConfigSource, ConfigSynonym
from ..model.configs import BROKER_CONFIGS, CLIENT_QUOTAS, TOPIC_CONFIGS, ConfigKind, Definition, Scope
from ..model.refused_configs import READ_ONLY, refusal
from ..model.sensitive_configs import is_password, is_sensitive
from ..model.throttle_configs import LONG_MAX, trimmed
from ..model.values import ALL_BROKERS, BROKERS, TOPICS, ConfigEntity, KeyConfigs
from ..model.view import ClusterView
from .static_configs import STATIC, static_entries, static_value

CONFIG_BYTES_MAX = 950_000  # of any key: ZooKeeper takes 1 MB
_ANY_TOPIC = ConfigEntity(TOPICS, "")


def definitions_of(kind: str) -> Mapping[str, Definition]:
    """The configs that an entity of this kind may have."""
    return {TOPICS: TOPIC_CONFIGS, BROKERS: BROKER_CONFIGS}.get(kind, CLIENT_QUOTAS)


def check_topic_configs(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the configs of a topic; None if nothing is."""
    problems = (check_config(_ANY_TOPIC, name, value) for name, value in configs.items())
    return next(filter(None, problems), None) or check_size(configs)


def as_stored(entity: ConfigEntity, name: str, value: str) -> str:
    """The value that is written: without white space around it, which Kafka ignores. Of an unknown config, as it is."""
    return trimmed(value) if name in definitions_of(entity.kind) else value


def topic_configs_as_stored(configs: Mapping[str, str]) -> dict[str, str]:
    return {name: as_stored(_ANY_TOPIC, name, value) for name, value in configs.items()}


def check_config(entity: ConfigEntity, name: str, value: str) -> str | None:
    """Why a config of an entity may not get this value; None if it may."""
    definition = definitions_of(entity.kind).get(name)
    if definition is None:
        return unchangeable(entity, name)
    if not definition.scope & _scope(entity):
        where = "for all brokers only" if entity.name != ALL_BROKERS else "for single brokers only"
        return f"{name} can be set {where}"
    expected = definition.check(value)
    return None if expected is None else f"{name} must be {expected}, not {value!r:.120}"


def unchangeable(entity: ConfigEntity, name: str) -> str:
    """Why a config that no request can change is refused: the name is unknown, or it is a broker's and Kedge does not
    change it."""
    why = None if entity.kind != BROKERS else READ_ONLY if name in STATIC else refusal(name)
    if why is not None:
        return f"{name} {why}"
    return f"there is no {_word(entity)} config {name!r:.120}"


def _word(entity: ConfigEntity) -> str:
    return {TOPICS: "topic", BROKERS: "broker"}.get(entity.kind, "client quota")


def _scope(entity: ConfigEntity) -> Scope:
    if entity.kind == TOPICS:
        return Scope.TOPIC
    return Scope.ALL_BROKERS if entity.name == ALL_BROKERS else Scope.BROKER


def check_size(configs: Mapping[str, str]) -> str | None:
    """Why configs do not fit into their key; None if they do."""
    more = json.dumps(configs.more) if isinstance(configs, KeyConfigs) else ""
    size = 40 + len(more) + sum(len(json.dumps(name)) + len(json.dumps(value)) + 2 for name, value in configs.items())
    if size <= CONFIG_BYTES_MAX:
        return None
    return f"the configs may take {size} bytes, their key holds at most {CONFIG_BYTES_MAX}"


# --- effective values


def describe(view: ClusterView, entity: ConfigEntity) -> dict[str, ConfigEntry]:
    """All configs that the entity may have or has, by name."""
    own = view.topic_config(entity.name) if entity.kind == TOPICS else view.broker_config(entity.name)
    return describe_with(view, entity, own)


def describe_with(view: ClusterView, entity: ConfigEntity, own: Mapping[str, str]) -> dict[str, ConfigEntry]:
    known = definitions_of(entity.kind)
    scope = _scope(entity)
    names = [name for name, one in known.items() if one.scope & scope or name in own]
    found = {name: _entry(view, entity, name, known.get(name), own) for name in (*names, *(set(own) - set(known)))}
    if scope is Scope.BROKER and entity.kind == BROKERS:
        return {entry.name: entry for entry in static_entries(view, entity.name)} | found
    return found


def _entry(
    view: ClusterView, entity: ConfigEntity, name: str, definition: Definition | None, own: Mapping[str, str]
) -> ConfigEntry:
    chain = tuple(_chain(view, entity, name, definition, own))
    first = chain[0]
    if definition is None:
        hides, kind = is_sensitive(entity.kind, name), ConfigKind.PASSWORD if is_password(name) else None
        value = None if hides else first.value
        return ConfigEntry(name, value, first.source, (attrs.evolve(first, value=value),), kind, is_sensitive=hides)
    shown = chain[:1] if entity.name == ALL_BROKERS and name in own else _as_kafka(chain, definition)
    return ConfigEntry(name, first.value, first.source, shown, definition.kind, definition.documentation)


def _as_kafka(chain: tuple[ConfigSynonym, ...], definition: Definition) -> tuple[ConfigSynonym, ...]:
    """The default under Kafka's name for it, which Kafka shows only below a value of a broker."""
    if definition.has_default:
        return chain
    elsewhere = next((_ELSEWHERE[one.name] for one in chain[:-1] if one.name in _ELSEWHERE), None)
    return chain[:-1] if elsewhere is None else (*chain[:-1], elsewhere)


def _chain(
    view: ClusterView, entity: ConfigEntity, name: str, definition: Definition | None, own: Mapping[str, str]
) -> Iterator[ConfigSynonym]:
    """All values of the config, the effective one first."""
    if name in own:
        yield ConfigSynonym(name, own[name], _OWN[_scope(entity)])
    if definition is None:
        return
    fallback = definition.broker_name if entity.kind == TOPICS else name
    if fallback is not None:
        if entity.name != ALL_BROKERS and fallback in view.broker_defaults:
            said = view.broker_defaults[fallback]
            yield ConfigSynonym(fallback, said, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
        static = static_value(view.settings, fallback)
        if static is not None and static != definition.default:
            yield ConfigSynonym(fallback, static, ConfigSource.STATIC_BROKER_CONFIG)
    yield ConfigSynonym(fallback or name, definition.default, ConfigSource.DEFAULT_CONFIG)


_ELSEWHERE: Mapping[str, ConfigSynonym] = {
    name: ConfigSynonym(other, value, ConfigSource.DEFAULT_CONFIG)
    for name, other, value in (
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms", str(LONG_MAX)),
        ("log.retention.ms", "log.retention.hours", "168"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours", "0"),
        ("log.roll.ms", "log.roll.hours", "168"),
    )
}
"""Defaults that Kafka's brokers have under another name."""

_OWN: Mapping[Scope, ConfigSource] = {
    Scope.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    Scope.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    Scope.ALL_BROKERS: ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
}
