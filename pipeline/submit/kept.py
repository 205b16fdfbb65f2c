"""What is kept beside a plan while it is handed over: how far it is, and that somebody is at it.

* `FOLDER.progress.json` says of each wave that was begun how it stands. It is written before anything is asked for, and
  again once that is done; whole, synced, under its name by a rename. What the cluster says counts more: the file is
  what a rollback goes by, and what tells a wave half done from a cluster that somebody else changed.
* Where a server does not record who set a throttle, the file does (`Mark`), before it is set: so that what operators
  had set themselves is there again in the end.
* It belongs to one manifest. A plan that was exported anew with other contents is another plan, and is refused.
* The lock is the operating system's, on `.FOLDER.submit.lock`: who dies leaves none behind.
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

from pipeline.errors import BadInput, Refused
from pipeline.submit.exported import Exported
from pipeline.written import written_as

State: TypeAlias = Literal["sent", "done", "cancelled", "undoing"]
"""Of a wave that was begun. "sent": it is handed over, or about to be."""
_STATES: Final = frozenset(get_args(State))
Setting: TypeAlias = tuple[str, str, str]
"""Of a "broker" or a "topic", its name, the setting's."""


def progress_file(folder: Path) -> Path:
    folder = folder.absolute()
    return folder.with_name(f"{folder.name}.progress.json")


@attrs.frozen
class Mark:
    """A setting that waves changed. `was`: the operator's own value that was replaced; `ours`: each value that was set,
    of a list the elements that were added. `stands`: it is to be given back."""

    was: str | None = None
    ours: frozenset[str] = frozenset()
    stands: bool = True


@attrs.define
class Progress:
    """How far a plan is; `waves` holds those that were begun. With `is_kept` False nothing is written."""

    plan: Exported
    waves: dict[int, State] = attrs.field(factory=dict)
    is_kept: bool = True
    marks: dict[Setting, Mark] = attrs.field(factory=dict)

    @property
    def is_undoing(self) -> bool:
        return "undoing" in self.waves.values()

    def set(self, wave: int, state: State | None) -> None:
        """The wave stands so, whatever happens next; None: as if it never was begun."""
        if self.waves.get(wave) == state:
            return
        if state is None:
            del self.waves[wave]
        else:
            self.waves[wave] = state
        if self.is_kept:
            self._write()

    def mark(self, marks: Mapping[Setting, Mark]) -> None:
        """These settings are marked so, whatever happens next."""
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
        file = progress_file(self.plan.folder)
        beside = file.with_name(f".{file.name}.new")  # of this process alone, which holds the lock
        with written_as(file):
            with beside.open("wb") as opened:
                opened.write((json.dumps(said, indent=1) + "\n").encode())
                opened.flush()
                os.fsync(opened.fileno())
            beside.replace(file)
        descriptor = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_progress(plan: Exported, *, is_kept: bool = True) -> Progress:
    """How far the plan is. Refused where the file is another plan's, BadInput where it cannot be read."""
    file = progress_file(plan.folder)
    try:
        said = json.loads(file.read_bytes())
        manifest, found = said["manifest"], said["waves"]
        waves: dict[int, State] = {int(number): state for number, state in found.items()}
        marks = dict(map(_mark, said.get("throttles", [])))
    except FileNotFoundError:
        return Progress(plan, is_kept=is_kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: no progress of a plan: {type(error).__name__}; without it all begins anew") from None
    if manifest != plan.sha256:
        raise Refused(
            f"{plan.folder}: the plan was changed since it was begun, its manifest is another than {file.name} names; "
            "put the old one back, or remove that file to begin with the new one"
        )
    if not set(waves.values()) <= _STATES or not waves.keys() <= {wave.number for wave in plan.waves}:
        raise BadInput(f"{file}: no progress of this plan: {waves!r:.120}")
    return Progress(plan, waves, is_kept, marks)


def _mark(row: list[Any]) -> tuple[Setting, Mark]:
    kind, name, setting, was, ours, stands = row
    return (str(kind), str(name), str(setting)), Mark(was, frozenset(map(str, ours)), bool(stands))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else hands this plan over meanwhile. Refused where somebody does."""
    folder = folder.absolute()
    file = folder.with_name(f".{folder.name}.submit.lock")
    with file.open("a+b") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            opened.seek(0)
            who = " ".join(opened.read(200).decode(errors="replace").split())
            raise Refused(
                f"{folder}: is being submitted already, by {who or 'somebody'} ({file.name} is locked)"
            ) from None
        with written_as(file):
            opened.truncate(0)
            opened.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            opened.flush()
        yield
