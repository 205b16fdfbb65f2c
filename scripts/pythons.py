"""The Pythons of this machine beside the one that runs here: of the oldest and the newest minor version, the oldest.

The oldest release of a minor version lacks the most fixes, so it is the one that tells whether the project needs one.
A name on the PATH may be a stub that fails, as pyenv's are for versions that are not switched on; so each is run, and
those that pyenv keeps are looked at too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_SAID = "import platform, sys; print(platform.python_implementation(), *sys.version_info[:3])"


def ends() -> dict[str, str]:
    """The oldest and the newest of `found`, without the minor version that runs here, on which all tests run."""
    programs = found()
    return {
        version: programs[version]
        for version in dict.fromkeys([*programs][:1] + [*programs][-1:])
        if version.rpartition(".")[0] != "{}.{}".format(*sys.version_info)
    }


def found() -> dict[str, str]:
    """The program of the oldest CPython of each minor version that runs here, by its whole version ("3.11.2")."""
    oldest = {}
    for minor in VERSIONS:
        releases = [(release, program) for program in _programs(minor) if (release := _release(program, minor))]
        if releases:
            release, program = min(releases, key=lambda each: each[0])  # of two alike, the first on the PATH
            oldest[".".join(map(str, release))] = program
    return oldest


def _programs(version: str) -> list[str]:
    name = f"python{version}"
    on_path = (shutil.which(name, path=folder) for folder in os.get_exec_path())
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [*filter(None, on_path), *map(str, sorted(pyenv.glob(f"{version}.*/bin/{name}")))]


def _release(program: str, minor: str) -> tuple[int, ...] | None:
    """The version of the program in three numbers, or None where it does not run or is no CPython of `minor`."""
    try:
        done = subprocess.run(
            [program, "-c", _SAID], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    said = done.stdout.split()
    if done.returncode or said[:3] != ["CPython", *minor.split(".")]:
        return None
    return tuple(map(int, said[1:]))
