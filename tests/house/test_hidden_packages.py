"""Where a folder of the user's own hides a package of ours, one sentence of the error names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
USES = {
    "import": ["-c", "import kedge"],
    "a name": ["-c", "from kedge import Controller"],
    "the command": ["-m", "kedge", "check", "--help"],
}


def run(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """With `folder` in front of the path, as that of a user's program is."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(CHECKOUT)])}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.checklist(271)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["controller", "stores", "pipeline"])
def test_a_folder_that_hides_a_package_is_named(tmp_path: Path, name: str, use: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    done = run(tmp_path, USES[use])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: kedge needs its own package '{name}', but Python finds {tmp_path / name} first: move that code "
        "into a package with another name"
    )


def test_a_file_hides_it_as_well_and_a_program_may_catch_it(tmp_path: Path) -> None:
    (tmp_path / "stores.py").touch()
    program = "try:\n    import kedge\nexcept ImportError as error:\n    print('caught', error)"
    done = run(tmp_path, ["-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        f"caught kedge needs its own package 'stores', but Python finds {tmp_path / 'stores.py'}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_a_folder_without_modules_hides_nothing(tmp_path: Path, use: str) -> None:
    """Data of a user's, say: Python takes the package."""
    (tmp_path / "controller").mkdir()
    done = run(tmp_path, USES[use])
    assert (done.returncode, done.stderr) == (0, "")
