"""A Java that these tests play."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def played_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Has JAVA_HOME name a Java that says it is of the version given; returns its path."""

    def play(version: str) -> Path:
        java = tmp_path / "home" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
        return java

    return play
