"""Kedge: an embeddable controller for Kafka-style clusters, over a pluggable metadata store.

    kedge             what a host embeds: `from kedge import Controller, MemoryStore, TopicPartition, open_store`
    kedge.stores      metadata stores: the contract, the conformance suite (`kedge.stores.suite`), faults for tests
    kedge.rig         a cluster in virtual time, and the checks of a host of your own
    kedge.gateway     Kafka's protocol over a controller
    kedge.testing     clusters for tests of Kafka clients, without a JVM
    kedge.pipeline    plans for fleets, and audits of what was done

These are the public modules, each with its names in `__all__`; others are private. The names of `kedge` are imported
at the first access to one of them, so that a command does not wait for modules that it does not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .controller.aio import AsyncController as AsyncController
    from .controller.aio import HostOnLoop as HostOnLoop
    from .controller.check import check_store as check_store
    from .controller.check import inspect as inspect
    from .controller.metrics.prometheus import ControllerCollector as ControllerCollector
    from .names import *  # noqa: F403 - for type checkers only

    __all__: list[str]
    __version__: str

_LATE: Final = {
    "AsyncController": ".controller.aio",
    "ControllerCollector": ".controller.metrics.prometheus",
    "HostOnLoop": ".controller.aio",
    "check_store": ".controller.check",
    "inspect": ".controller.check",
}
"""Names that few programs need: asyncio, an extra, or a reader of whole stores stands behind them."""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        return version("kedge")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"


def _public() -> list[str]:
    return sorted([*_LATE, *(name for name in vars(import_module(".names", __name__)) if not name.startswith("_"))])


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name in _LATE:
        return getattr(import_module(_LATE[name], __name__), name)
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    if name == "__all__":
        return _public()
    if name not in _public():
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    return getattr(import_module(".names", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__", *_public()})
