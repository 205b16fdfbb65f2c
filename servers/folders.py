"""Folders for the data of servers, removed with the server, or later if the process was killed.

Rules
* The name of a folder identifies its process (with its namespace and start time, since process ids are reused). The
  first folder that a process makes removes the folders of dead processes: the servers of a test killed with -9 remain
  until the next one starts.
* Other cleanup (of network namespaces, mounts) is written as a script into the folder *before* the change. `close` runs
  the same script as the sweep, so that each `close` tests it.
* Only folders made by this user are considered, and no other user can write into them.
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
    """A folder of this process, `path`. `tag` is unique among these folders: for names outside of it. `in_memory`: use
    a memory file system if the machine has one."""

    def __init__(self, kind: str, *, in_memory: bool = False) -> None:
        _sweep_once()
        prefix = f"kedge-{kind}-{_space()}-{os.getpid()}-{birth(os.getpid())}-"
        self.path: Final = Path(tempfile.mkdtemp(prefix=prefix, dir=memory_folder() if in_memory else None))
        self.tag: Final = self.path.name.rpartition("-")[2]
        atexit.register(self.close)

    def undo_by(self, *commands: Sequence[str]) -> None:
        """`commands` run before the folder is removed, in order, whether they succeed or not."""
        with (self.path / _UNDO).open("a", encoding="utf-8") as script:
            script.writelines(f"{shlex.join(command)}\n" for command in commands)

    def close(self) -> None:
        """Kill its processes, run the cleanup and remove the folder. Idempotent."""
        remove(self.path)
        atexit.unregister(self.close)


def sweep(parent: Path) -> list[Path]:
    """Remove the folders of dead processes in `parent`, with the processes in them. Returns the folders."""
    left = [path for path in parent.glob("kedge-*-*") if _is_left(path)]
    for path in left:
        remove(path)
    return left


def remove(folder: Path) -> None:
    """Kill the processes of the folder, run its cleanup and remove it. No error if it does not exist."""
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
    """The parent of folders in memory, None with too little space: containers often have 64 MB."""
    with contextlib.suppress(OSError):
        if os.access(_SHM, os.W_OK) and shutil.disk_usage(_SHM).free >= _MEMORY_BYTES:
            return _SHM
    return None


def _is_left(path: Path) -> bool:
    name = _NAME.fullmatch(path.name)
    # Another namespace is that of a container with the same /tmp, whose process ids are unknown here.
    if name is None or name["space"] != str(_space()):
        return False
    with contextlib.suppress(OSError):
        known = path.lstat()
        own = known.st_uid == os.getuid() and path.is_dir() and not path.is_symlink()
        return own and not _lives(int(name["pid"]), int(name["birth"]))
    return False


def _lives(pid: int, began: int) -> bool:
    if began:
        return birth(pid) == began
    try:  # without /proc there is no start time to compare
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@functools.cache
def _space() -> int:
    """The pid namespace of this process; 0 without namespaces."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - Path.stat does not follow links of /proc
    return 0
