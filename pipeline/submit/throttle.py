"""The operator's rate of a plan: it replaces the rates of all waves, also while a wave runs.

It is kept in `FOLDER.throttle.json` under the sha256 of the manifest, so a plan that is exported again does not inherit
it. The process that submits the plan reads the file at each look, and sets the rate when it changes.
"""

from __future__ import annotations

from pathlib import Path

from ...stores.reading import parse_json
from ..errors import BadInput
from .exported import Exported, read_export
from .kept import beside, is_submitted, write_synced


def set_throttle(folder: Path | str, rate: int) -> bool:
    """From now on each broker sends and receives at most `rate` bytes per second for the moves of the exported plan.
    Returns whether a process submits the plan now, which sets the rate at its next look. Raises BadInput for a folder
    without an export, and for a rate below 1 or that is no int."""
    plan = read_export(Path(folder))
    if type(rate) is not int or rate < 1:
        raise BadInput(f"{folder}: expected a throttle of whole bytes per second, at least 1, got {rate!r:.80}")
    write_synced(_file(plan.folder), {"version": 1, "manifest": plan.sha256, "bytes_per_s": rate})
    return is_submitted(plan.folder)


def throttle_of(plan: Exported) -> int | None:
    """The operator's rate, in bytes per second; None if none was set for this plan. Raises BadInput."""
    file = _file(plan.folder)
    try:
        said = parse_json(file.read_bytes())
        manifest, rate = said["manifest"], said["bytes_per_s"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file}: no throttle of a plan ({type(error).__name__}); set it again, or remove it") from None
    if type(rate) is not int or rate < 1:
        raise BadInput(f"{file}: bytes_per_s: expected a number of at least 1, got {rate!r:.80}")
    return rate if manifest == plan.sha256 else None


def _file(folder: Path) -> Path:
    return beside(folder, "throttle")
