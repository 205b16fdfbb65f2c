"""Debian packages, installed if that needs no confirmation: as root, on a machine with apt-get."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Final

from servers.process import NoServer

_INSTALL_S: Final = 600.0


def have(find: Callable[[], object], *packages: str) -> None:
    """`find` succeeds afterwards: `packages` are installed if it raises NoServer first. Raises NoServer with both
    reasons."""
    try:
        find()
    except NoServer as error:
        try:
            install(*packages)
        except NoServer as refused:
            raise NoServer(f"{error}; {refused}") from refused
        find()


def install(*packages: str) -> None:
    """The packages are installed. Raises NoServer with the last line of apt-get's output, or with the reason not to run
    it."""
    wanted = " ".join(packages)
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        why = "apt-get is missing" if apt is None else "only root can"
        raise NoServer(f"cannot install {wanted} (Debian's names): {why}")
    if _run(apt, "install", *packages):
        _run(apt, "update")  # a fresh machine may have no lists, or old ones
        said = _run(apt, "install", *packages)
        if said:
            raise NoServer(f"apt-get cannot install {wanted}: {said}")


def _run(apt: str, verb: str, *packages: str) -> str:
    """Run apt-get. Returns an empty string, or its last line of output if it failed."""
    command = [apt, verb, "--yes", "--quiet", *(["--no-install-recommends", *packages] if packages else [])]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(  # noqa: S603 - apt-get and names of ours
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return (said[-1] if said else f"exit code {done.returncode}") if done.returncode else ""
