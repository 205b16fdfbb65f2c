"""Packaging metadata stands in one file, and says what the design says."""

from __future__ import annotations

import configparser
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    return parser


def names(requirements: str) -> set[str]:
    """The names of a list of requirements, without versions."""
    return {line.partition(">")[0].strip() for line in requirements.splitlines() if line.strip()}


def test_pyproject_holds_the_build_system_and_settings_of_tools_only() -> None:
    pyproject = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(pyproject) == {"build-system", "tool"}
    assert set(pyproject["tool"]) == {"ruff", "mypy", "pytest", "coverage"}


def test_there_is_no_second_place_for_packaging_metadata() -> None:
    assert [name for name in ("setup.py", "MANIFEST.in", "requirements.txt") if (CHECKOUT / name).exists()] == []


def test_the_core_needs_two_packages(setup: configparser.ConfigParser) -> None:
    assert names(setup["options"]["install_requires"]) == {"attrs", "tenacity"}


def test_all_holds_every_extra_of_users(setup: configparser.ConfigParser) -> None:
    """An extra that `all` forgets would be tested nowhere, because the checks install `all`."""
    extras = setup["options.extras_require"]
    assert names(extras["all"]) == {
        f"kedge[{name}]" for name in extras if name not in {"all", "docs", "mutants", "test"}
    }


def test_the_distribution_is_kedge_under_apache_2(setup: configparser.ConfigParser) -> None:
    metadata = setup["metadata"]
    assert (metadata["name"], metadata["license"]) == ("kedge", "Apache-2.0")
    assert "Version 2.0, January 2004" in (CHECKOUT / metadata["license_files"]).read_text(encoding="utf-8")


def test_the_base_of_the_image_is_named_by_its_digest() -> None:
    """A tag alone may name another image tomorrow."""
    lines = (CHECKOUT / "Containerfile").read_text(encoding="utf-8").splitlines()
    (base,) = [line.removeprefix("ARG BASE=") for line in lines if line.startswith("ARG BASE=")]
    assert re.fullmatch(r"docker\.io/library/python:3\.13[0-9a-z.-]*@sha256:[0-9a-f]{64}", base)
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {"${BASE}"}


def test_the_package_is_typed(setup: configparser.ConfigParser) -> None:
    assert "py.typed" in setup["options.package_data"]["kedge"].split()
    assert (CHECKOUT / "kedge" / "py.typed").is_file()


@pytest.mark.parametrize("package", ["controller", "kedge", "pipeline", "stores"])
def test_every_folder_with_modules_is_a_package(package: str) -> None:
    """`find:` leaves out a folder without __init__.py, and only an installed copy would miss it."""
    folders = {file.parent for file in (CHECKOUT / package).rglob("*.py")}
    assert [str(folder.relative_to(CHECKOUT)) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_file_beside_the_code_is_declared_as_package_data(setup: configparser.ConfigParser) -> None:
    """An editable install finds a file that a wheel would lack."""
    declared = {package: globs.split() for package, globs in setup["options.package_data"].items()}
    found = [
        (package, path.relative_to(CHECKOUT / package.rpartition(".")[2]).as_posix())
        for package in declared
        for path in (CHECKOUT / package.rpartition(".")[2]).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert ("kedge.controller", "cli/serve/page/page.html") in found
    assert [file for package, file in found if not any(fnmatch(file, glob) for glob in declared[package])] == []
