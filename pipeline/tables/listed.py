"""The snapshots of a catalog, presented as the files that they would be in a folder, so that
`kedge.pipeline.tables.files` finds places in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from .location import Location


def _tree(files: Iterable[str]) -> dict[str, set[str]]:
    """The contents of each folder."""
    found: dict[str, set[str]] = {"": set()}
    for file in files:
        path = file
        while path:
            folder, _, name = path.rpartition("/")
            found.setdefault(folder, set()).add(name)
            path = folder
    return found


@attrs.frozen
class Listed(Location):
    """`files`: every file by its path. None of them can be opened."""

    files: frozenset[str] = attrs.field(default=frozenset(), eq=False, repr=False)
    _folders: Mapping[str, set[str]] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_folders", _tree(self.files))

    def is_there(self, path: str = "", *, file: bool = False) -> bool:
        return path in self.files if file else path in self._folders

    def names(self, path: str) -> list[str]:
        return sorted(self._folders.get(path, ()))
