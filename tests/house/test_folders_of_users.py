"""An installed Kedge works beside folders of a user's with the names of ours, which come first on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.kit.wheels import wheel

FOLDERS = ("controller", "stores", "pipeline", "servers", "tests", "scripts")
EVERY_MODULE = """
import importlib, sys
from pathlib import Path

import kedge

home = Path(kedge.__file__).parents[1]
assert home == Path(sys.argv[1]), home
files = (file.relative_to(home).with_suffix("") for file in sorted((home / "kedge").rglob("*.py")))
names = [".".join(file.parts).removesuffix(".__init__") for file in files if file.name != "__main__"]
for name in names:
    if name != "kedge.pipeline.job":
        importlib.import_module(name)
print(len(names))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel puts into site-packages."""
    folder = tmp_path_factory.mktemp("site-packages")
    with ZipFile(wheel(tmp_path_factory.mktemp("wheel"))) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of a user's: each folder a package that cannot be imported."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('a folder of the user was imported')\n")
    return tmp_path


def run(project: Path, installed: Path, *arguments: str) -> str:
    """The output of a program in the folder of the project."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(project), str(installed)])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_nothing_but_kedge_and_the_plugin_gets_into_site_packages(installed: Path) -> None:
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert names == {"kedge", "pytest_kedge.py"}


@pytest.mark.slow
@pytest.mark.checklist(271)
def test_every_module_is_imported_beside_them(project: Path, installed: Path) -> None:
    assert int(run(project, installed, "-c", EVERY_MODULE, str(installed))) > 600


@pytest.mark.slow
@pytest.mark.checklist(271)
def test_command_and_public_names_work_beside_them(project: Path, installed: Path) -> None:
    assert run(project, installed, "-c", "from kedge import Controller; print(Controller.__name__)") == "Controller\n"
    assert "lost: 0" in run(project, installed, "-m", "kedge", "demo")
