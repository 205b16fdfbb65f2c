"""A checker that holds a tree of sources to the floors of the house.

Rules
* An import counts wherever it stands: at the top, in a function, under TYPE_CHECKING, in `import_module("...")`. A type
  from above is a dependency on above as much as a call.
* Imports are read with `ast`, nothing is executed: a violation is found also where no test goes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import attrs

from tests.house.floors import IMPURE, OTHER_TOPS, ROOMS, Room
from tests.house.imports import imports, modules, within


@attrs.frozen
class Violation:
    """`module` imports `imported` at `line`, and may not, because of `reason`."""

    module: str
    line: int
    imported: str
    reason: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported}: {self.reason}"


def violations(tree: Path, rooms: Iterable[Room] = ROOMS) -> list[Violation]:
    """Every import below `tree` that the table forbids; `tree` is the folder that holds the folders of FOLDERS."""
    rooms = tuple(rooms)
    files = modules(tree)
    found = []
    for module, file in files.items():
        room = room_of(module, rooms)
        if room is None:
            found.append(Violation(module, 0, "anything", "the module has no row in tests/house/floors.py"))
            continue
        for line, name in imports(module, file, frozenset(files)):
            reason = _forbidden(name, room, rooms)
            if reason:
                found.append(Violation(module, line, name, reason))
    return found


def room_of(module: str, rooms: Iterable[Room]) -> Room | None:
    """The room with the longest name that is the module or above it. `kedge.controller` holds itself alone, and a new
    room in it is none of `kedge`."""
    holding = [room for room in rooms if within(module, room.name)]
    if within(module, "kedge.controller") and module != "kedge.controller":
        holding = [
            room for room in holding if within(room.name, "kedge.controller") and room.name != "kedge.controller"
        ]
    return max(holding, key=lambda room: len(room.name), default=None)


def _forbidden(name: str, room: Room, rooms: tuple[Room, ...]) -> str:
    """Why a module of `room` may not import `name`, or nothing."""
    top = name.partition(".")[0]
    if top == "kedge" or top in OTHER_TOPS:
        return "" if _ours_allowed(name, room, rooms) else room.why
    if room.pure:
        for impure, reason in IMPURE.items():
            if within(name, impure):
                return reason
    if top in sys.stdlib_module_names or top in room.third_party:
        return ""
    return f"a third-party package that this room does not list: {room.third_party}"


def _ours_allowed(name: str, room: Room, rooms: tuple[Room, ...]) -> bool:
    if room_of(name, rooms) == room:
        return room.beside
    # A package's own front (`stores`, for a module of stores) offers names of the whole room: it counts as the room.
    return any(within(name, allowed) for allowed in room.ours)
