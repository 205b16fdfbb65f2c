"""The status of partitions by what rows say of it: online, readOnly, offline, gone, and never back (KIP-694).

Told apart from the rules of a legal trace, because here a status is followed whatever event says it. What was never
said is not known, and the first word is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

ONLINE: Final = 0
READ_ONLY: Final = -1
OFFLINE: Final = 1
_NAMES: Final = {ONLINE: "online", READ_ONLY: "readOnly", OFFLINE: "offline"}
_NEXT: Final = {ONLINE: (READ_ONLY, OFFLINE), READ_ONLY: (OFFLINE,), OFFLINE: ()}
_GONE: Final = None


class Statuses:
    """The statuses of the partitions of a group."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, int], int | None] = {}

    def lost(self) -> None:
        """Rows are missing: nothing is known."""
        self._now.clear()

    def feed(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Rule, expected and got, where a row breaks the order."""
        event, topic = row["event"], row.get("topic")
        if topic is None:
            return
        if event in ("TopicCreated", "TopicDeleted"):
            self._forget(topic)
        elif event == "PartitionsAdded":
            self._added(topic, row)
        elif "partition" in row and (event == "PartitionPurged" or "replicas" in row):
            yield from self._follow((topic, row["partition"]), row)

    def _forget(self, topic: str) -> None:
        for key in [key for key in self._now if key[0] == topic]:
            del self._now[key]

    def _added(self, topic: str, row: Mapping[str, Any]) -> None:
        """Ids that come back begin anew."""
        detail = row.get("detail") or {}
        first = detail.get("first")
        if type(first) is int:
            for key in [key for key in self._now if key[0] == topic and key[1] >= first]:
                del self._now[key]

    def _follow(self, key: tuple[str, int], row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        is_known, was = key in self._now, self._now.get(key)
        if row["event"] == "PartitionPurged":
            self._now[key] = _GONE
            if is_known and was != OFFLINE:
                yield "status", "offline before it is purged", _name(was)
            return
        now = row.get("status", ONLINE)
        self._now[key] = now
        if not is_known or now == was or row.get("cause") in ("found", "readable again"):
            return
        allowed = () if was is _GONE else _NEXT.get(was, ())
        if now not in allowed:
            expected = (
                " or ".join(_name(one) for one in (was, *allowed)) if was is not _GONE else "no row of it any more"
            )
            yield "status", expected, _name(now)


def _name(status: int | None) -> str:
    return "gone" if status is None else _NAMES.get(status, str(status))
