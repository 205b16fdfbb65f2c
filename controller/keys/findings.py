"""What is wrong with keys that were read, for people: one table of a term, by key.

Whoever reads a key says whether it is `bad` or `good` (also: absent); a commit that wrote or deleted it says `good`.
So a finding goes with its cause, whoever made it. Keys of topics and partitions that cannot be read stand in the state,
since rules ask for them. What is not about a key (`store`, `too large`, ...) is said elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stores.checks import parent


class Findings:
    """Written on the loop's thread; `as_dict` may be called from any."""

    def __init__(self) -> None:
        self._by_key: dict[str, str] = {}

    def bad(self, key: str, why: str) -> None:
        """`key` was read, and something is wrong with it."""
        self._by_key[key] = why

    def good(self, key: str) -> None:
        """`key` was read, and nothing is wrong with it; or it is absent."""
        self._by_key.pop(key, None)

    def below(self, above: str, problems: Mapping[str, str]) -> None:
        """All keys directly below `above` were read: these are bad, the others are good or absent."""
        for key in [key for key in self._by_key if parent(key) == above and key not in problems]:
            del self._by_key[key]
        self._by_key.update(problems)

    def written(self, keys: Iterable[str]) -> None:
        """A commit of ours left these as we want them."""
        if self._by_key:
            for key in keys:
                self.good(key)

    def under(self, prefixes: tuple[str, ...]) -> list[str]:
        """The bad keys that begin with one of `prefixes`."""
        return [key for key in self._by_key if key.startswith(prefixes)] if self._by_key else []

    def as_dict(self) -> dict[str, str]:
        """By key; a copy."""
        return dict(self._by_key)
