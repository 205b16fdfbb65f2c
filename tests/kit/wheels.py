"""The wheel of this checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]


def wheel(folder: Path) -> Path:
    """Built in `folder` from a copy: a build leaves files beside its sources."""
    source = folder / "source"
    for name in ("controller", "kedge", "pipeline", "stores"):
        ignored = shutil.ignore_patterns("__pycache__")  # the links in kedge stay links
        shutil.copytree(CHECKOUT / name, source / name, symlinks=name == "kedge", ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "pytest_kedge.py", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    program = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, check=True)
    (built,) = folder.glob("kedge-*.whl")
    return built
