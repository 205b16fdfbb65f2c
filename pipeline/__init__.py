"""Plans for clusters, and proof of what was done. Snapshots and loads go in, plans with reasons come out; journals go
in, audits and progress come out.

Rules
* Data are tables with declared schemas (`kedge.pipeline.tables`). A stage is a function from tables to tables; files
  are read and written outside the stages.
* Decisions are made in `kedge.pipeline.kernel`, on arrays of numbers, without files, clock or randomness: the same
  input gives the same bytes.
* `journal`: journals as typed rows. `audit`: the rules that they keep. `progress`: moves, stuck moves, learned rates.
* `local` calls the stages on Arrow tables in this process, `spark` on DataFrames. Only `spark` starts a JVM, and no
  module depends on the controller's runtime.

Public are the names here, and those of `kedge.pipeline.local`, `spark`, `audit`, `progress` and `submit`. The first
need the extra `pipeline`, and are imported at the first access to one of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .names import *  # noqa: F403 - for type checkers only

    __all__: list[str]

_MODULES: Final = ("local", "spark")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name == "__all__" or not name.startswith("_"):
        names = {public: value for public, value in vars(import_module(".names", __name__)).items() if public[0] != "_"}
        if name == "__all__" or name in names:
            return names.get(name, sorted(names))
    raise AttributeError(f"module 'kedge.pipeline' has no attribute {name!r}")
