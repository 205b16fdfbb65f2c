"""The memory of a process."""

from __future__ import annotations

import os
from pathlib import Path


def resident(process_id: int | str = "self") -> int:
    """The bytes that are in memory."""
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
