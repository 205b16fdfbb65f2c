"""Kedge: an embeddable controller for Kafka-style clusters, over a pluggable metadata store.

`from kedge import Controller, MemoryStore, TopicPartition, open_store`: the public names are listed in `kedge.names`,
which is imported at the first access to one of them, so that a command does not wait for modules that it does not use.
Other names of `controller`, `stores` and `pipeline` are public where a page of docs/ mentions them.

Raises ImportError if another package hides `controller`, `stores` or `pipeline`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kedge.names import *  # noqa: F403 - for type checkers only
    from kedge.names import __all__ as __all__

    __version__: str

_PACKAGES: Final = ("controller", "stores", "pipeline")
_HOME: Final = Path(__file__).resolve().parents[1]


def _check_packages() -> None:
    for name in _PACKAGES:
        spec = find_spec(name)
        found = None if spec is None else next(iter(spec.submodule_search_locations or ()), spec.origin)
        if found is not None and Path(found).resolve().parent != _HOME:
            raise ImportError(
                f"kedge needs its own package {name!r}, but Python finds {found} first: move that code into a package "
                "with another name"
            )


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        return version("kedge")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    names = import_module("kedge.names")
    if not hasattr(names, name) or (name != "__all__" and name not in names.__all__):
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    return getattr(names, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__", *import_module("kedge.names").__all__})


_check_packages()
