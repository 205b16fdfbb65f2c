"""The status of partitions by the rows of a journal: online, readOnly, offline, gone, and never back (KIP-694).

It is separate from the rules of a legal trace, because here a status is followed across all events. An unknown status
takes the first value that a row has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

ONLINE: Final = 0
READ_ONLY: Final = -1
OFFLINE: Final = 1
_NAMES: Final = {ONLINE: "online", READ_ONLY: "readOnly", OFFLINE: "offline"}
_NEXT: Final = {ONLINE: (READ_ONLY, OFFLINE), READ_ONLY: (OFFLINE,), OFFLINE: ()}
_GONE: Final = None
_UNKNOWN: Final = 128  # outside the 8 bits of a status
_OF_TOPICS: Final = frozenset({"TopicCreated", "TopicDeleted", "PartitionsAdded"})

Wrong: TypeAlias = tuple[str, str, str]


class Statuses:
    """The statuses of partitions, None once they are gone."""

    def __init__(self) -> None:
        self.now: dict[tuple[str, int], int | None] = {}

    def lost(self) -> None:
        """Rows are missing: forget everything."""
        self.now.clear()

    def feed(self, row: Mapping[str, Any]) -> Wrong | None:
        """Rule, expected and got, if a row breaks the order."""
        event, topic = row["event"], row.get("topic")
        if topic is None:
            return None
        if event in _OF_TOPICS:
            self._added(topic, row) if event == "PartitionsAdded" else self._forget(topic)
        elif "partition" in row and ("replicas" in row or event == "PartitionPurged"):
            return self._follow((topic, row["partition"]), row)
        return None

    def _forget(self, topic: str) -> None:
        for key in [key for key in self.now if key[0] == topic]:
            del self.now[key]

    def _added(self, topic: str, row: Mapping[str, Any]) -> None:
        """Ids that come back start without a status."""
        detail = row.get("detail") or {}
        first = detail.get("first")
        if type(first) is int:
            for key in [key for key in self.now if key[0] == topic and key[1] >= first]:
                del self.now[key]

    def _follow(self, key: tuple[str, int], row: Mapping[str, Any]) -> Wrong | None:
        was = self.now.get(key, _UNKNOWN)
        if row["event"] == "PartitionPurged":
            self.now[key] = _GONE
            is_wrong = was not in (_UNKNOWN, OFFLINE)
            return ("status", "offline before it is purged", _name(was)) if is_wrong else None
        now = row.get("status", ONLINE)
        if now == was:
            return None
        self.now[key] = now
        if was == _UNKNOWN or row.get("cause") in ("found", "readable again"):
            return None
        allowed = () if was is _GONE else _NEXT.get(was, ())
        if now in allowed:
            return None
        expected = " or ".join(_name(one) for one in (was, *allowed)) if was is not _GONE else "no further row of it"
        return "status", expected, _name(now)


def _name(status: int | None) -> str:
    return "gone" if status is None else _NAMES.get(status, str(status))
