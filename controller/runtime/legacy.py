"""The log hears of what somebody has to know who wrote the legacy key."""

from __future__ import annotations

import logging

from controller.model import records as r
from controller.rules.legacy import DROPPED

_log = logging.getLogger(__name__)


def say(record: r.Record) -> None:
    """Log what became of the legacy key, or of an entry of it."""
    if isinstance(record, r.LegacyEntryRemoved) and record.cause == DROPPED:
        entry = record.entry
        _log.warning("dropped from the legacy key: %.300r-%d: %s", entry.topic, entry.partition, record.reason)
    elif isinstance(record, r.LegacyKeyChanged):
        _log.warning("the legacy key: %s", record.detail)
    elif isinstance(record, r.LegacyKeyBroken) and record.after.problem is not None:
        _log.warning("the legacy key cannot be read: %s", record.after.problem)
