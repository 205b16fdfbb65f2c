"""Requests about configs and their answers, in the shape of Kafka's AdminClient."""

from __future__ import annotations

import enum

import attrs

from .configs import ConfigKind
from .values import ALL_BROKERS, BROKERS, CLIENTS, TOPICS, USERS, ConfigEntity


class ConfigResourceType(enum.Enum):
    """The kinds of resources that have configs."""

    TOPIC = TOPICS
    BROKER = BROKERS
    USER = USERS
    CLIENT = CLIENTS


def _require_str(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if type(value) is not str:
        raise TypeError(f"{attribute.name} must be a str, not {value!r:.200}")


def _require_str_or_none(_: object, attribute: attrs.Attribute[str | None], value: object) -> None:
    if value is not None and type(value) is not str:
        raise TypeError(f"{attribute.name} must be a str or None, not {value!r:.200}")


@attrs.frozen
class ConfigResource:
    """A topic, a broker (`name`: its id in decimal), or the defaults of all brokers (`name`: "", as in Kafka, or
    "<default>"). A user or a client id has quotas; `quota.clients.owner` makes the name, also of both together.
    TypeError for a field of the wrong type."""

    type: ConfigResourceType = attrs.field(validator=attrs.validators.instance_of(ConfigResourceType))
    name: str = attrs.field(validator=_require_str)

    @property
    def entity(self) -> ConfigEntity:
        """The resource as keys of the store name it."""
        if self.type is ConfigResourceType.BROKER and not self.name:
            return ConfigEntity(BROKERS, ALL_BROKERS)
        return ConfigEntity(self.type.value, self.name)


class OpType(enum.Enum):
    """SET a value, DELETE it (the fallback applies again), APPEND to a list, or SUBTRACT from it."""

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    SUBTRACT = "subtract"


@attrs.frozen
class AlterConfigOp:
    """One change of `incremental_alter_configs`. `value`: for lists, elements separated by commas; None for DELETE.
    TypeError for a field of the wrong type."""

    name: str = attrs.field(validator=_require_str)
    value: str | None = attrs.field(default=None, validator=_require_str_or_none)
    op: OpType = attrs.field(default=OpType.SET, validator=attrs.validators.instance_of(OpType))


class ConfigSource(enum.Enum):
    """Where a value comes from, in Kafka's words. STATIC_BROKER_CONFIG: the host's `Settings`."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"


@attrs.frozen
class ConfigSynonym:
    """One of the values that a config falls back to; None if the config is sensitive."""

    name: str
    value: str | None
    source: ConfigSource


@attrs.frozen
class ConfigEntry:
    """A config and its effective value. `synonyms`: all values that are set for it, under Kafka's names; the effective
    one is first. `is_read_only`: no request can alter it. `kind` and `documentation` are None for an unknown name,
    which another program wrote. `is_sensitive`: all values are None (`sensitive_configs`)."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[ConfigSynonym, ...]
    kind: ConfigKind | None = None
    documentation: str | None = None
    is_read_only: bool = False
    is_sensitive: bool = False

    @property
    def is_default(self) -> bool:
        """Whether it is set nowhere."""
        return self.source is ConfigSource.DEFAULT_CONFIG
