"""The configs that a reduction needs: of the controller, of all brokers, of the topic. Unreadable ones permit nothing,
since they may be a reason to keep records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...model.values import UnreadConfigs
from ...model.view import ClusterView

ENABLE: Final = "delete.topic.partition.enable"
INTERVAL: Final = "delete.topic.partition.interval.delay.ms"
RETENTION: Final = "retention.ms"
RETENTION_DEFAULT: Final = "log.retention.ms"
RETENTION_MS: Final = 604_800_000  # Kafka's default: 7 days
DISABLED: Final = "delete.topic.partition.enable is off, or cannot be read"
NOT_IN_KAFKA: Final = (
    "its brokers are Kafka's, which have no read-only partitions (KIP-694): create another topic with fewer partitions"
)
_FOR_EVER: Final = -1
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")


def disabled(view: ClusterView) -> str | None:
    """Why partitions may not be taken away from topics; None if they may."""
    if view.settings.kafka_brokers:
        return NOT_IN_KAFKA
    defaults = view.broker_defaults
    if isinstance(defaults, UnreadConfigs):
        return DISABLED
    said = defaults.get(ENABLE)
    is_enabled = view.settings.delete_topic_partition_enable if said is None else said.strip().lower() == "true"
    return None if is_enabled else DISABLED


def interval_ms(view: ClusterView) -> int:
    """How often read-only partitions are checked."""
    said = _number(view.broker_defaults, INTERVAL)
    return view.settings.delete_topic_partition_interval_delay_ms if said is None or said < 1 else said


def retention_ms(view: ClusterView, topic: str) -> int | None:
    """How long a read-only partition of the topic stays; None: until it is empty."""
    own, defaults = view.topic_config(topic), view.broker_defaults
    if isinstance(own, UnreadConfigs) or (RETENTION not in own and isinstance(defaults, UnreadConfigs)):
        return None
    if RETENTION not in own and RETENTION_DEFAULT not in defaults:
        return RETENTION_MS
    said = _number(own, RETENTION) if RETENTION in own else _number(defaults, RETENTION_DEFAULT)
    return None if said is None or said <= _FOR_EVER else said


def _number(settings: Mapping[str, str], name: str) -> int | None:
    """A config as a whole number; None if it is not one, or not set."""
    said = settings.get(name, "").strip()
    return int(said) if _WHOLE.fullmatch(said) else None
