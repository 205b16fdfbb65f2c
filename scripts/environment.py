"""Make the virtual environment that every script runs in: `.venv` in the checkout; and one for each other Python.

Runs under a Python in which nothing is installed, so it imports the standard library only.

Rules
* A stamp in `.venv` says what was installed for which checkout by which Python. The same again is not installed twice.
* Another setup.cfg or build system: install again, into the same environment.
* Another Python, or a checkout that was copied or moved: it is made again, because the scripts in `.venv/bin` and the
  link to the checkout hold absolute paths, and a copy would test the original.
* The stamp is written last, so an install that was interrupted is done again.
* Environments of other Pythons are in `build`, and hold what the fast tests need: everything but Spark.
"""

from __future__ import annotations

import configparser
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
STAMP = "kedge-installed.json"
EXTRAS = "all,docs,test"
_OF_ALL = re.compile(r"kedge\[(\w+)\]")


class InstallFailed(Exception):
    """The environment could not be made; the message is what the failing tool printed."""


def prepare() -> Path:
    """`.venv` holds what setup.cfg asks for. Returns its Python. Raises InstallFailed."""
    return _locked(sys.executable, VENV, f"{CHECKOUT}[{EXTRAS}]")


def prepare_fast(executable: str, version: str) -> Path:
    """An environment of another Python holds what the fast tests need. Returns its Python. Raises InstallFailed."""
    return _locked(executable, CHECKOUT / "build" / f"python-{version}", f"{CHECKOUT}[{_fast_extras()}]")


def _fast_extras() -> str:
    """Those of `all`, for users, and the tools of the tests. Spark is 400 MB, and no fast test needs it."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    every = _OF_ALL.findall(config["options.extras_require"]["all"])
    return ",".join([*(extra for extra in every if extra != "spark"), "docs", "test"])


def _locked(executable: str, venv: Path, *packages: str) -> Path:
    build = CHECKOUT / "build"
    build.mkdir(exist_ok=True)
    with (build / "environment.lock").open("w") as lock:
        # Two scripts started at once would install into one folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _prepare(executable, venv, packages)


def _prepare(executable: str, venv: Path, packages: tuple[str, ...]) -> Path:
    python, stamp = venv / "bin" / "python", venv / STAMP
    wanted = _wanted(executable, packages)
    present = _present(stamp)
    if present == wanted and python.exists():
        return python
    shown = venv.relative_to(CHECKOUT)
    print(f"installing kedge into {shown} (once, and when setup.cfg changed)", file=sys.stderr, flush=True)
    if not python.exists() or {**present, "packages": ""} != {**wanted, "packages": ""}:
        _run([executable, "-m", "venv", "--clear", str(venv)])
    stamp.unlink(missing_ok=True)
    _install(python, packages)
    stamp.write_text(json.dumps(wanted, indent=2) + "\n")
    return python


def _install(python: Path, packages: tuple[str, ...]) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    uv = [str(python), "-m", "uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
    try:
        _run([*pip, "uv"])
        _run([*uv, "--editable", *packages])  # in a third of the time that pip takes
    except InstallFailed:  # uv reads no settings of pip, such as another index
        _run([*pip, "--editable", *packages])


def _wanted(executable: str, packages: tuple[str, ...]) -> dict[str, str]:
    build_system = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["build-system"]
    asked = (CHECKOUT / "setup.cfg").read_bytes() + json.dumps(build_system).encode()
    return {
        "checkout": str(CHECKOUT),
        "python": _run([executable, "-c", "import sys; print(sys.version)"]).strip(),
        "packages": hashlib.sha256(asked + repr(packages).encode()).hexdigest(),
    }


def _present(stamp: Path) -> dict[str, str]:
    try:
        found = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _run(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InstallFailed(f"{done.stdout}\nfailed with exit code {done.returncode}: {' '.join(command)}")
    return done.stdout


def main() -> int:
    try:
        prepare()
    except InstallFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
