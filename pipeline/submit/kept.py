"""The state kept beside a plan while it is submitted: its progress, and a lock.

* `FOLDER.progress.json` has the state of each begun wave, and when a wave that runs began. It is written before the
  first request of a wave, and again when the wave is done; completely, synced, and renamed into place. The state of the
  cluster takes precedence. The file tells a rollback which waves to undo, and distinguishes a half-done wave from a
  cluster that another tool changed.
* If a server does not record the owner of a throttle, the file does (`Mark`), before the throttle is set, so that
  values set by operators are restored in the end.
* It belongs to one manifest. A plan exported again with other contents is another plan, and is refused.
* The lock is the operating system's, on `.FOLDER.submit.lock`: a process that dies leaves none behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from ...stores.reading import parse_json
from ..errors import BadInput, Refused
from ..written import written_as
from .exported import Exported, number_of

State: TypeAlias = Literal["sent", "done", "cancelled", "undoing"]
"""The state of a begun wave. "sent": it is submitted, or about to be."""
_STATES: Final = frozenset(get_args(State))
Setting: TypeAlias = tuple[str, str, str]
"""The kind "broker" or "topic", its name, and the name of the config."""


def progress_file(folder: Path) -> Path:
    return beside(folder, "progress")


def beside(folder: Path, what: str) -> Path:
    """The file of the plan in `folder` that is kept beside it."""
    folder = folder.absolute()
    return folder.with_name(f"{folder.name}.{what}.json")


@attrs.frozen
class Mark:
    """A config that waves changed. `was`: the operator's value that was replaced; `ours`: each value that was set, of a
    list the added elements. `stands`: it is still to be restored."""

    was: str | None = None
    ours: frozenset[str] = frozenset()
    stands: bool = True


@attrs.define
class Progress:
    """The progress of a plan; `waves` holds the begun ones, `began` when those that run began, in seconds since 1970.
    With `is_kept` False nothing is written."""

    plan: Exported
    waves: dict[int, State] = attrs.field(factory=dict)
    is_kept: bool = True
    marks: dict[Setting, Mark] = attrs.field(factory=dict)
    began: dict[int, float] = attrs.field(factory=dict)

    @property
    def is_undoing(self) -> bool:
        return "undoing" in self.waves.values()

    def begin(self, wave: int, state: State, now_s: float) -> float:
        """Record durably that the wave begins now, unless an earlier call began it; return when it began."""
        if self.waves.get(wave) != state:
            self.began[wave] = now_s
            self.set(wave, state)
        return self.began.get(wave, now_s)

    def set(self, wave: int, state: State | None) -> None:
        """Record the state of the wave durably; None: as if it had never begun."""
        if self.waves.get(wave) == state:
            return
        if state is None:
            del self.waves[wave]
        else:
            self.waves[wave] = state
        self.began = {number: at for number, at in self.began.items() if self.waves.get(number) in ("sent", "undoing")}
        if self.is_kept:
            self._write()

    def mark(self, marks: Mapping[Setting, Mark]) -> None:
        """Record these marks durably."""
        if marks.items() <= self.marks.items():
            return
        self.marks |= marks
        if self.is_kept:
            self._write()

    def _write(self) -> None:
        waves = {str(number): state for number, state in sorted(self.waves.items())}
        said = {"version": 1, "plan": self.plan.plan, "manifest": self.plan.sha256, "waves": waves}
        if self.marks:
            said["throttles"] = [
                [*setting, mark.was, sorted(mark.ours), mark.stands] for setting, mark in sorted(self.marks.items())
            ]
        if self.began:
            said["began"] = {str(number): at for number, at in sorted(self.began.items())}
        write_synced(progress_file(self.plan.folder), said)


def write_synced(file: Path, content: Mapping[str, Any]) -> None:
    """The file has this content, or its former one if the process or the host dies meanwhile."""
    new = file.with_name(f".{file.name}.new")
    with written_as(file):
        with new.open("wb") as opened:
            opened.write((json.dumps(content, indent=1) + "\n").encode())
            opened.flush()
            os.fsync(opened.fileno())
        new.replace(file)
    descriptor = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_progress(plan: Exported, *, is_kept: bool = True) -> Progress:
    """The progress of the plan. Raises Refused if the file belongs to another plan, BadInput if it cannot be read."""
    file = progress_file(plan.folder)
    try:
        said = parse_json(file.read_bytes())
        manifest, found = said["manifest"], said["waves"]
        waves: dict[int, State] = {number_of(name): state for name, state in found.items()}
        marks = dict(map(_mark, said.get("throttles", [])))
        began = {number_of(name): at + 0.0 for name, at in said.get("began", {}).items()}
    except FileNotFoundError:
        return Progress(plan, is_kept=is_kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: no progress of a plan ({type(error).__name__}); remove it to start over") from None
    if manifest != plan.sha256:
        raise Refused(
            f"{plan.folder}: the plan was changed after it was begun: its manifest is not the one in {file.name}; "
            "restore the old plan, or remove that file to begin with the new one"
        )
    if not set(waves.values()) <= _STATES or not waves.keys() <= {wave.number for wave in plan.waves}:
        raise BadInput(f"{file}: expected waves of this plan with states of {sorted(_STATES)}, got {waves!r:.120}")
    return Progress(plan, waves, is_kept, marks, began)


def _mark(row: list[Any]) -> tuple[Setting, Mark]:
    kind, name, setting, was, ours, stands = row
    return (str(kind), str(name), str(setting)), Mark(was, frozenset(map(str, ours)), bool(stands))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """No other process submits this plan in the block. Raises Refused if one does."""
    folder = folder.absolute()
    file = folder.with_name(f".{folder.name}.submit.lock")
    with file.open("a+b") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            opened.seek(0)
            who = " ".join(opened.read(200).decode(errors="replace").split())
            raise Refused(
                f"{folder}: the plan is already being submitted, by {who or 'another process'} ({file.name} is locked)"
            ) from None
        with written_as(file):
            opened.truncate(0)
            opened.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            opened.flush()
        yield


def is_submitted(folder: Path) -> bool:
    """Whether a process submits the plan now."""
    try:
        with locked(folder):
            return False
    except Refused:
        return True
