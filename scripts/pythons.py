"""The Pythons of this machine, one for each minor version that the project supports.

A name on the PATH may be a stub that fails, as pyenv's are for versions that are not switched on; so each is run, and
those that pyenv keeps are looked at too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_SAID = "import platform, sys; print(platform.python_implementation(), *sys.version_info[:3])"


def found() -> dict[str, str]:
    """The program of each minor version of CPython that runs here, by the version."""
    candidates = {version: _programs(version) for version in VERSIONS}
    return {
        version: program
        for version, programs in candidates.items()
        for program in [next((each for each in programs if is_cpython(each, version)), None)]
        if program is not None
    }


def _programs(version: str) -> list[str]:
    name = f"python{version}"
    on_path = shutil.which(name)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(pyenv.glob(f"{version}.*/bin/{name}"))
    return [*([on_path] if on_path else []), *map(str, kept)]


def is_cpython(program: str, version: str) -> bool:
    """Whether the program runs, and is CPython of that minor version."""
    try:
        done = subprocess.run(
            [program, "-c", _SAID], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.split()[:3] == ["CPython", *version.split(".")]
