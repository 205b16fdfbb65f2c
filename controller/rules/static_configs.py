"""Read-only configs of a broker, under Kafka's names: its registration, and the host's `Settings`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..model.config_requests import ConfigEntry, ConfigSource, ConfigSynonym
from ..model.configs import ConfigKind
from ..model.values import Settings
from ..model.view import ClusterView

_OF_THE_HOST: Final = (
    ("auto.leader.rebalance.enable", ConfigKind.BOOLEAN, "Whether the controller moves leaders back by itself."),
    ("default.replication.factor", ConfigKind.INT, "Replicas of a new topic."),
    ("delete.topic.enable", ConfigKind.BOOLEAN, "Whether topics may be deleted."),
    ("leader.imbalance.check.interval.seconds", ConfigKind.LONG, "How often leaders are moved back."),
    ("leader.imbalance.per.broker.percentage", ConfigKind.INT, "From which share on leaders are moved back."),
    ("num.partitions", ConfigKind.INT, "Partitions of a new topic."),
    ("reserved.broker.max.id", ConfigKind.INT, "The highest id that a broker may choose."),
)
_BY_DEFAULT: Final = Settings()
STATIC: Final = {"broker.id", "advertised.listeners", "broker.rack", *(name for name, _, _ in _OF_THE_HOST)}


def static_entries(view: ClusterView, broker: str) -> Iterator[ConfigEntry]:
    """The read-only configs of the broker with this id. Those of its registration are missing if it is not live."""
    yield _entry("broker.id", broker, "-1", ConfigKind.INT, "The id of the broker.")
    live = view.brokers.get(int(broker))
    if live is not None:
        listeners = ",".join(f"{e.listener}://{e.host}:{e.port}" for e in live.registration.endpoints)
        if listeners:
            yield _entry("advertised.listeners", listeners, None, ConfigKind.STRING, "Where clients reach the broker.")
        if live.rack is not None:
            yield _entry("broker.rack", live.rack, None, ConfigKind.STRING, "The rack of the broker.")
    for name, kind, documentation in _OF_THE_HOST:
        value = static_value(view.settings, name)
        assert value is not None
        yield _entry(name, value, static_value(_BY_DEFAULT, name), kind, documentation)


def static_value(settings: Settings, name: str) -> str | None:
    """The field of `settings` for Kafka's config `name`, as text; None if there is none. Fields have underscores where
    Kafka's names have dots."""
    value = getattr(settings, name.replace(".", "_"), None)
    return None if value is None else str(value).lower()  # a bool, in Kafka's spelling, or a number


def _entry(name: str, value: str, default: str | None, kind: ConfigKind, documentation: str) -> ConfigEntry:
    chain = [] if value == default else [ConfigSynonym(name, value, ConfigSource.STATIC_BROKER_CONFIG)]
    if default is not None:
        chain.append(ConfigSynonym(name, default, ConfigSource.DEFAULT_CONFIG))
    return ConfigEntry(name, value, chain[0].source, tuple(chain), kind, documentation, is_read_only=True)
