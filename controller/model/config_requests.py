"""What callers ask of configs, and get: the shape of Kafka's AdminClient."""

from __future__ import annotations

import enum

import attrs

from controller.model.configs import ConfigKind
from controller.model.values import ALL_BROKERS, BROKERS, TOPICS, ConfigEntity


class ConfigResourceType(enum.Enum):
    """What has settings."""

    TOPIC = TOPICS
    BROKER = BROKERS


def _require_str(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if type(value) is not str:
        raise TypeError(f"{attribute.name} must be a str, not {value!r:.200}")


def _require_str_or_none(_: object, attribute: attrs.Attribute[str | None], value: object) -> None:
    if value is not None and type(value) is not str:
        raise TypeError(f"{attribute.name} must be a str or None, not {value!r:.200}")


@attrs.frozen
class ConfigResource:
    """A topic, a broker (`name`: its id in decimal), or all brokers (`name` "", as Kafka spells it, or "<default>").
    TypeError where a field is not of its kind."""

    type: ConfigResourceType = attrs.field(validator=attrs.validators.instance_of(ConfigResourceType))
    name: str = attrs.field(validator=_require_str)

    @property
    def entity(self) -> ConfigEntity:
        """Whose configs these are, as keys spell it."""
        if self.type is ConfigResourceType.BROKER and not self.name:
            return ConfigEntity(BROKERS, ALL_BROKERS)
        return ConfigEntity(self.type.value, self.name)


class OpType(enum.Enum):
    """SET a value, DELETE it (what it falls back to holds again); APPEND to a list, or SUBTRACT from it."""

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    SUBTRACT = "subtract"


@attrs.frozen
class AlterConfigOp:
    """One change of `incremental_alter_configs`. `value`: elements with commas between them where it is about a list;
    DELETE has none. TypeError where a field is not of its kind."""

    name: str = attrs.field(validator=_require_str)
    value: str | None = attrs.field(default=None, validator=_require_str_or_none)
    op: OpType = attrs.field(default=OpType.SET, validator=attrs.validators.instance_of(OpType))


class ConfigSource(enum.Enum):
    """Where a value comes from, by Kafka's words. STATIC_BROKER_CONFIG: the host's `Settings`."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"


@attrs.frozen
class ConfigSynonym:
    """One value of the chain that a setting falls back along."""

    name: str
    value: str
    source: ConfigSource


@attrs.frozen
class ConfigEntry:
    """A setting as it holds. `synonyms`: all values that it has somewhere, the one that holds first, under the names
    that Kafka has for them. `is_read_only`: no request alters it. `kind` and `documentation` None: the name is not
    known here, and somebody else wrote it."""

    name: str
    value: str
    source: ConfigSource
    synonyms: tuple[ConfigSynonym, ...]
    kind: ConfigKind | None = None
    documentation: str | None = None
    is_read_only: bool = False

    @property
    def is_default(self) -> bool:
        """Whether nobody set it anywhere."""
        return self.source is ConfigSource.DEFAULT_CONFIG
