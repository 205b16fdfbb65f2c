"""Problems of keys that were read, for people: one table per term, by key.

The reader of a key reports it as `bad` or `good` (also if absent); a commit that wrote or deleted it reports `good`. So
a finding ends with its cause. Unreadable keys of topics and partitions are kept in the state, since rules need them.
Findings that are not about a key (`store`, `too large`, ...) are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...stores.checks import parent


class Findings:
    """Written on the loop's thread; `as_dict` may be called from any thread."""

    def __init__(self) -> None:
        self._by_key: dict[str, str] = {}

    def bad(self, key: str, why: str) -> None:
        """`key` was read and has a problem."""
        self._by_key[key] = why

    def good(self, key: str) -> None:
        """`key` was read and has no problem, or is absent."""
        self._by_key.pop(key, None)

    def below(self, above: str, problems: Mapping[str, str]) -> None:
        """All keys directly below `above` were read: `problems` are the bad ones."""
        for key in [key for key in self._by_key if parent(key) == above and key not in problems]:
            del self._by_key[key]
        self._by_key.update(problems)

    def written(self, keys: Iterable[str]) -> None:
        """A commit of ours wrote these keys."""
        if self._by_key:
            for key in keys:
                self.good(key)

    def under(self, prefixes: tuple[str, ...]) -> list[str]:
        """The bad keys that begin with one of `prefixes`."""
        return [key for key in self._by_key if key.startswith(prefixes)] if self._by_key else []

    def as_dict(self) -> dict[str, str]:
        return dict(self._by_key)
