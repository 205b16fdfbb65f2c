"""Make the virtual environment that every script runs in: `.venv` in the checkout.

Runs under a Python in which nothing is installed, so it imports the standard library only.

Rules
* A stamp in `.venv` says what was installed for which checkout by which Python. The same again is not installed twice.
* Another setup.cfg or build system: install again, into the same environment.
* Another Python, or a checkout that was copied or moved: begin anew, because the scripts in `.venv/bin` and the link to
  the checkout hold absolute paths, and a copy would test the original.
* The stamp is written last, so an install that was interrupted is done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
STAMP = VENV / "kedge-installed.json"
EXTRAS = "all,test"


class InstallFailed(Exception):
    """The environment could not be made; the message is what the failing tool printed."""


def prepare() -> Path:
    """`.venv` holds what setup.cfg asks for. Returns its Python. Raises InstallFailed."""
    build = CHECKOUT / "build"
    build.mkdir(exist_ok=True)
    with (build / "environment.lock").open("w") as lock:
        # Two scripts started at once would install into one folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _prepare()


def _prepare() -> Path:
    python = VENV / "bin" / "python"
    wanted = _wanted()
    present = _present()
    if present == wanted and python.exists():
        return python
    print(
        f"installing kedge[{EXTRAS}] into {VENV.name} (once, and when setup.cfg changed)", file=sys.stderr, flush=True
    )
    if not python.exists() or {**present, "packages": ""} != {**wanted, "packages": ""}:
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    STAMP.unlink(missing_ok=True)
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    _run([str(python), "-m", "pip", "install", *quiet, "--editable", f"{CHECKOUT}[{EXTRAS}]"])
    STAMP.write_text(json.dumps(wanted, indent=2) + "\n")
    return python


def _wanted() -> dict[str, str]:
    build_system = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["build-system"]
    packages = (CHECKOUT / "setup.cfg").read_bytes() + json.dumps(build_system).encode()
    # The packages that the editable install links to are found when it is made: a new top folder needs a new install.
    found = [folder for folder in ("controller", "stores") if (CHECKOUT / folder / "__init__.py").exists()]
    return {
        "checkout": str(CHECKOUT),
        "python": sys.version,
        "packages": hashlib.sha256(packages + repr((EXTRAS, found)).encode()).hexdigest(),
    }


def _present() -> dict[str, str]:
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _run(command: list[str]) -> None:
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


def main() -> int:
    try:
        prepare()
    except InstallFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
