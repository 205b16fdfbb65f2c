"""Finds a Java of at least some version on this machine: that of JAVA_HOME, else the one on the PATH, as Spark does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

JAVA_PACKAGE: Final = "default-jdk-headless"  # in Debian and Ubuntu
_PACKAGE: Final = f"install {JAVA_PACKAGE} (Debian's name) or set JAVA_HOME"
_ANSWER_S: Final = 20.0


class NoJava(RuntimeError):
    """No Java on this machine is new enough; the message lists those found."""


def find_java(version_min: int, needed_by: str) -> str:
    """The command of Java. Raises NoJava, which names `needed_by`, if there is none that is new enough."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    found = "no Java was found"
    if command is not None:
        said = _version_said(command)
        version = re.search(r'version "(?:1\.)?([0-9]+)', said)
        if version is not None and int(version[1]) >= version_min:
            return command
        found = f"{command} reports {said[:80]!r}"
    raise NoJava(f"{needed_by} needs Java {version_min} or later; {found}: {_PACKAGE}")


def _version_said(command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a Java of this machine
            [command, "-version"], capture_output=True, text=True, check=False, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr
