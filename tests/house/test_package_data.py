"""What the code reads from its own package is in the package."""

from __future__ import annotations

import configparser
from fnmatch import fnmatch
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def test_every_file_beside_the_code_is_declared_as_package_data() -> None:
    """An editable install finds a file that a wheel would lack."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    declared = {package: globs.split() for package, globs in config["options.package_data"].items()}
    found = [
        (package, path.relative_to(CHECKOUT / package.rpartition(".")[2]).as_posix())
        for package in declared
        for path in (CHECKOUT / package.rpartition(".")[2]).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert ("kedge.controller", "cli/serve/page/page.html") in found
    assert [file for package, file in found if not any(fnmatch(file, glob) for glob in declared[package])] == []
