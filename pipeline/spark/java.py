"""Finds a Java of at least some version on this machine: that of JAVA_HOME, else the one on the PATH, else, on request,
one below /usr/lib/jvm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

JAVA_PACKAGE: Final = "default-jdk-headless"  # in Debian and Ubuntu
_PACKAGE: Final = f"install {JAVA_PACKAGE} (Debian's name) or set JAVA_HOME"
_INSTALLED: Final = Path("/usr/lib/jvm")
_ANSWER_S: Final = 20.0


class NoJava(RuntimeError):
    """No Java on this machine is new enough; the message lists those found."""


def find_java(version_min: int, needed_by: str, *, off_path: bool = False) -> str:
    """The command of the first Java that is new enough. If JAVA_HOME is set, only that is considered; `off_path`: also
    those that are installed and not on the PATH. Raises NoJava, which names `needed_by`."""
    seen = []
    for command in _candidates(off_path=off_path):
        said = _version_said(command)
        version = re.search(r'version "(?:1\.)?([0-9]+)', said)
        if version is not None and int(version[1]) >= version_min:
            return command
        seen.append(f"{command} reports {said[:80]!r}")
    found = "; ".join(seen) or "no Java was found"
    raise NoJava(f"{needed_by} needs Java {version_min} or later; {found}: {_PACKAGE}")


def _candidates(*, off_path: bool) -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if on_path is not None:
        yield on_path
    if off_path and not home and _INSTALLED.is_dir():
        yield from (str(java) for java in sorted(_INSTALLED.glob("*/bin/java")) if os.access(java, os.X_OK))


def _version_said(command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a Java of this machine
            [command, "-version"], capture_output=True, text=True, check=False, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr
