"""What is installed where it is missing, by an apt-get that these tests play."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from servers import NoServer
from servers.debian import have, install

# Says each of its calls in a file; `install` succeeds once there were lists, if ever.
APT = """#!/bin/sh
echo "$@" >> "{log}"
[ "$1" = update ] && {update}
grep -q ^update "{log}" && {install}
echo "E: Unable to locate package" >&2
exit 100
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What apt-get was called with."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "log"


def play(log: Path, *, update: str, install: str) -> None:
    apt = log.with_name("apt-get")
    apt.write_text(APT.format(log=log, update=update, install=install))
    apt.chmod(0o755)


def test_lists_are_fetched_when_a_package_is_not_found(log: Path) -> None:
    """A fresh machine has none; one that has them is not asked to fetch them again."""
    play(log, update="exit 0", install="exit 0")
    install("one", "two")
    wanted = "install --yes --quiet --no-install-recommends one two"
    assert log.read_text().splitlines() == [wanted, "update --yes --quiet", wanted]


def test_what_cannot_be_installed_is_said_in_the_words_of_apt_get(log: Path) -> None:
    play(log, update="exit 0", install="true")
    with pytest.raises(NoServer, match="apt-get cannot install one: E: Unable to locate package"):
        install("one")
    with pytest.raises(NoServer, match="there is none; apt-get cannot install one"):
        have(missing, "one")


def missing() -> None:
    raise NoServer("there is none")


def test_without_root_or_apt_get_nothing_is_tried(log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    play(log, update="exit 0", install="exit 0")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoServer, match="only root can"):
        install("one")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(NoServer, match="apt-get is missing"):
        install("one")
    assert not log.exists()


def test_what_is_there_is_not_installed_and_what_is_not_is_looked_for_again(log: Path) -> None:
    play(log, update="exit 0", install="exit 0")
    have(lambda: "found", "one")
    assert not log.exists()

    def find() -> None:
        if not log.exists():
            raise NoServer("there is none")

    have(find, "one")
    assert "install" in log.read_text()
