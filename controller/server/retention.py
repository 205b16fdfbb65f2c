"""Deletes old records of topics that set `retention.ms` or `retention.bytes`.

Rules
* Whole batches go, the oldest first, up to the first that may stay. A batch is as old as the highest timestamp in it.
* Nothing above the high watermark goes, and nothing of a topic whose `cleanup.policy` does not say `delete`.
* Looked at once a second, not every five minutes as in Kafka. What is not set for the topic itself has no effect.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import attrs

from ..model.values import TOPICS
from ..simulated.broker import Broker
from ..simulated.replica import Replica
from .policies import DELETE, Configs, led, policies
from .shelves import Shelves

_MS: Final = "retention.ms"
_BYTES: Final = "retention.bytes"


@attrs.define(eq=False)
class Retention:
    """Retention of the topics on `brokers`. `settings`: configs by kind and name."""

    brokers: Mapping[int, Broker]
    settings: Configs
    shelves: Shelves

    def clean(self) -> None:
        """Delete the records that are too old, or too many."""
        bounded = {name: configs for (kind, name), configs in self.settings.items() if kind == TOPICS}
        bounded = {name: configs for name, configs in bounded.items() if self._is_bounded(name, configs)}
        for replica in led(self.brokers, bounded.__contains__) if bounded else ():
            with suppress(ValueError):  # a setting that cannot be read has no effect
                self._clean(replica, bounded[replica.topic])

    def _is_bounded(self, name: str, configs: Mapping[str, str]) -> bool:
        return bool({_MS, _BYTES} & set(configs)) and DELETE in policies(name, self.settings)

    def _clean(self, replica: Replica, configs: Mapping[str, str]) -> None:
        ms, size_bytes = int(configs.get(_MS, -1)), int(configs.get(_BYTES, -1))
        if ms >= 0:
            self.shelves.delete_older(replica, time.time_ns() // 1_000_000 - ms)
        if size_bytes >= 0:
            self.shelves.delete_beyond(replica, size_bytes)
