"""Certificates for servers on the loopback address."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def _made(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Of the server: the certificate is its own authority."""
    return _made(tmp_path, "server")


@pytest.fixture
def other_authority(tmp_path: Path) -> Path:
    """One that signed nothing here."""
    return _made(tmp_path, "other")[0]
