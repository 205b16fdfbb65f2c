"""Plans for clusters, and proof of what was done. Snapshots and loads go in, plans with reasons come out; journals go
in, audits and progress come out.

Rules
* Data are tables with declared schemas (`kedge.pipeline.tables`). A stage is a function from tables to tables; files
  are read and written outside the stages.
* Decisions are made in `kedge.pipeline.kernel`, on arrays of numbers, without files, clock or randomness: the same
  input gives the same bytes.
* `journal`: journals as typed rows. `audit`: the rules that they keep. `progress`: moves, stuck moves, learned rates.
* The local engine calls these functions in its process; `kedge.pipeline.spark` calls the same functions on Spark. Only
  `kedge.pipeline.spark` starts a JVM, and no module depends on the controller's runtime.

Public are the names here, and those of `kedge.pipeline.audit`, `progress`, `spark` and `submit`. The first need the
extra `pipeline`, and are imported at the first access to one of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .names import *  # noqa: F403 - for type checkers only
    from .names import __all__ as __all__


def __getattr__(name: str) -> object:
    if name != "__all__" and name.startswith("_"):
        raise AttributeError(f"module 'kedge.pipeline' has no attribute {name!r}")
    names = import_module(".names", __name__)
    if name != "__all__" and name not in names.__all__:
        raise AttributeError(f"module 'kedge.pipeline' has no attribute {name!r}")
    return getattr(names, name)
