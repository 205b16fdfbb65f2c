"""Folders for the data of servers, which go with them, also when nobody was left to remove them.

Rules
* The name of a folder says whose it is: the process (with its namespace and the time at which it began, as numbers come
  again). The first folder that a process makes sweeps away those of processes that are dead: a test that was killed
  with -9 leaves its servers behind until the next one begins.
* What is to be undone besides (network namespaces, mounts) is written down as a script in the folder *before* it is
  done. `close` runs the same script as the sweep, so the way that is seldom taken is tried every time.
* Only folders that this user made are looked at, and no other user can write into them.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from servers.process import birth, end, recorded

_NAME: Final = re.compile(r"kedge-[a-z]+-(?P<space>\d+)-(?P<pid>\d+)-(?P<birth>\d+)-(?P<tag>[a-z0-9_]+)")
_UNDO: Final = "undo"
_UNDO_S: Final = 60.0
_SHM: Final = Path("/dev/shm")  # noqa: S108 - names in it are made by mkdtemp
_MEMORY_BYTES: Final = 2 * 2**30


class RunFolder:
    """A folder of this process, `path`. `tag` is in no name of another folder: for names of what stands in none.
    `in_memory`: it goes with the machine, and no write of it waits for a disk, where the machine has such folders."""

    def __init__(self, kind: str, *, in_memory: bool = False) -> None:
        _sweep_once()
        prefix = f"kedge-{kind}-{_space()}-{os.getpid()}-{birth(os.getpid())}-"
        self.path: Final = Path(tempfile.mkdtemp(prefix=prefix, dir=memory_folder() if in_memory else None))
        self.tag: Final = self.path.name.rpartition("-")[2]
        atexit.register(self.close)

    def undo_by(self, *commands: Sequence[str]) -> None:
        """Before the folder goes, `commands` are run, in order, whether they succeed or not."""
        with (self.path / _UNDO).open("a", encoding="utf-8") as script:
            script.writelines(f"{shlex.join(command)}\n" for command in commands)

    def close(self) -> None:
        """Its processes are killed, all is undone, the folder is gone. Idempotent."""
        remove(self.path)
        atexit.unregister(self.close)


def sweep(parent: Path) -> list[Path]:
    """The folders in `parent` of dead processes are removed, with what runs there. Returns them."""
    left = [path for path in parent.glob("kedge-*-*") if _is_left(path)]
    for path in left:
        remove(path)
    return left


def remove(folder: Path) -> None:
    """What runs in the folder is killed, what is to be undone is undone, and it is gone. No error if it is."""
    for place in (folder, *folder.glob("*/")):
        pid = recorded(place)
        if pid is not None:
            end(pid)
    if (folder / _UNDO).exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["/bin/sh", str(folder / _UNDO)], capture_output=True, timeout=_UNDO_S, check=False)  # noqa: S603 - see the rules above
    shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _sweep_once() -> None:
    sweep(Path(tempfile.gettempdir()))
    sweep(_SHM)


def memory_folder() -> Path | None:
    """Where folders in memory are made, if there is enough of it: containers are often given 64 MB."""
    with contextlib.suppress(OSError):
        if os.access(_SHM, os.W_OK) and shutil.disk_usage(_SHM).free >= _MEMORY_BYTES:
            return _SHM
    return None


def _is_left(path: Path) -> bool:
    name = _NAME.fullmatch(path.name)
    if name is None or name["space"] != str(
        _space()
    ):  # of a container with the same /tmp: its numbers say nothing here
        return False
    with contextlib.suppress(OSError):
        known = path.lstat()
        own = known.st_uid == os.getuid() and path.is_dir() and not path.is_symlink()
        return own and not _lives(int(name["pid"]), int(name["birth"]))
    return False


def _lives(pid: int, began: int) -> bool:
    if began:
        return birth(pid) == began
    try:  # without /proc, the number is all there is
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@functools.cache
def _space() -> int:
    """The namespace of process numbers that this process is in; 0 where there are none."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - Path.stat does not follow links of /proc
    return 0
