"""The pictures of README.md and docs/: they are there, small, and can be made again."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PICTURES = CHECKOUT / "docs" / "pictures"
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
BYTES_MAX = {".png": 200_000, ".svg": 300_000}
_SHOWN = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def test_pictures_are_small_and_need_no_other_host() -> None:
    found = [path for path in PICTURES.iterdir() if path.suffix in BYTES_MAX]
    assert {path.name for path in found} == {"demo.svg", "plan.png", "status.png"}
    assert [path.name for path in found if path.stat().st_size > BYTES_MAX[path.suffix]] == []
    demo = (PICTURES / "demo.svg").read_text(encoding="utf-8")
    ET.fromstring(demo)  # noqa: S314 - our own file
    assert not re.search(r"url\(.?http|href=.http", demo)


@pytest.mark.server
@pytest.mark.full
def test_a_picture_is_made_again(tmp_path: Path) -> None:
    command = [sys.executable, str(PICTURES / "make.py"), "--into", str(tmp_path), "plan"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "plan: made\n"), done.stderr
    made = (tmp_path / "plan.png").read_bytes()
    assert struct.unpack(">II", made[16:24]) == (1375, 975)
