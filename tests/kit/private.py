"""Files with passwords and keys, which Kedge refuses if other users may read them."""

from __future__ import annotations

from pathlib import Path


def write_private(file: Path, content: str | bytes) -> Path:
    """The file, with this content, for its owner alone."""
    file.touch()
    file.chmod(0o600)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file
