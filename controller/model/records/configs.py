"""Configs of topics and brokers: read anew from their keys, or altered here."""

from __future__ import annotations

from collections.abc import Mapping

from controller.model.frozen import frozen
from controller.model.records.base import Record
from controller.model.values import ConfigEntity


@frozen
class ConfigChanged(Record):
    """The config key of a topic was read and is another: `after` at `version` (0: it is absent)."""

    topic: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    version_before: int
    version: int


@frozen
class BrokerConfigChanged(Record):
    """`/config/brokers/<name>` was read and is another: `after` at `version` (0: it is absent). In the journal:
    ConfigChanged."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    version_before: int
    version: int


@frozen
class ConfigsAltered(Record):
    """The configs of a topic, a broker or all brokers are `after`, by our own doing. Its key is written, and whoever
    listens below `/config/changes` is told, in the same commit. In the journal: ConfigChanged. `cause`: who wanted
    it."""

    entity: ConfigEntity
    before: Mapping[str, str]
    after: Mapping[str, str]
    cause: str


@frozen
class ChangePurged(Record):
    """A notification of a change of configs goes, since everybody had the time to read it. `key`: its path. Not in
    the journal."""

    key: str
