"""The version of every key that the term has read or written: the only place that knows any.

* Filled by a takeover's load, then by records and commits. A version is adopted together with the content that was read
  at it: `KeyAdopted` and `StateKeyAdopted` are records of the same Decision as what follows from the content, and are
  undone with it. After a commit, each key that it wrote has the version that the store returned.
* Some small keys are overwritten whatever they hold (`KeyKind.reread`): of those a conflict shows the version alone.
* An absent key has no entry, so the entry of a key ends with the commit that deletes it, or when it is read as absent.
* State keys are columns by the number of the partition, as rows are: 16 bytes a partition with their generations, the
  partition epochs. Entries by path would take some 200.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping


class Versions:
    """`states`, `generations`: of each state key (0 and -1: it is absent), by the number of the partition. The other
    keys are found by path."""

    __slots__ = ("_below", "generations", "states")

    def __init__(self) -> None:
        self.states = array("q")
        self.generations = array("q")
        self._below: dict[str, dict[str, int]] = {}  # parent -> last segment -> version

    def of(self, path: str) -> int:
        """The version of a key that is no state key; 0: it is absent, or was never read."""
        parent, _, name = path.rpartition("/")
        found = self._below.get(parent)
        return 0 if found is None else found.get(name, 0)

    def below(self, parent: str) -> Mapping[str, int]:
        """The versions of the keys directly below `parent`, by the last segment of their paths."""
        return self._below.get(parent, {})

    def put(self, path: str, version: int) -> None:
        """A key that is no state key has this version (0: it is absent)."""
        parent, _, name = path.rpartition("/")
        self.put_below(parent, name, version)

    def put_below(self, parent: str, name: str, version: int) -> None:
        """As `put`, for the key `name` below `parent`. A load passes names that the state has anyway: without another
        copy of each, a topic takes 120 bytes less."""
        if version:
            self._below.setdefault(parent, {})[name] = version
        elif name in (found := self._below.get(parent, {})):
            del found[name]
            if not found:  # a parent of its own for each broker with intents
                del self._below[parent]
