"""Kedge: an embeddable controller for Kafka-style clusters, over a pluggable metadata store.

`from kedge import Controller, MemoryStore, TopicPartition, open_store`: the public names are listed in `kedge.names`,
which is imported at the first access to one of them, so that a command does not wait for modules that it does not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .names import *  # noqa: F403 - for type checkers only
    from .names import __all__ as __all__

    __version__: str


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
    names = import_module(".names", __name__)
    if not hasattr(names, name) or (name != "__all__" and name not in names.__all__):
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    return getattr(names, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__", *import_module(".names", __name__).__all__})
