"""Records about configs of topics and brokers: read from their keys again, or altered by a request."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..values import ConfigEntity
from .base import Record


@attrs.frozen
class ConfigChanged(Record):
    """The config key of a topic was read and differs: `after`."""

    topic: str
    before: Mapping[str, str]
    after: Mapping[str, str]


@attrs.frozen
class BrokerConfigChanged(Record):
    """`/config/brokers/<name>` was read and differs: `after`. In the journal: ConfigChanged."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str]


@attrs.frozen
class ConfigsAltered(Record):
    """The controller changed the configs of a topic, a broker or all brokers to `after`. The same commit writes its key
    and a notification below `/config/changes`. In the journal: ConfigChanged. `cause`: the request behind it."""

    entity: ConfigEntity
    before: Mapping[str, str]
    after: Mapping[str, str]
    cause: str


@attrs.frozen
class ChangePurged(Record):
    """A notification of changed configs is deleted, since its readers had enough time. `key`: its path. Not in the
    journal."""

    key: str
