"""The store on ZooKeeper, in Kafka's layout. Needs the extra `zookeeper` (kazoo) when it is used.

`stores.open_store("zookeeper://...")` opens one. `kedge.stores.zookeeper.url` describes the url. The rules of the
backend are in the modules: `link` (session), `bulk` (reads), `plan` and `commit` (writes), `watch` and `stream`
(hints).
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..base import Invalid
from ..extras import missing

if TYPE_CHECKING:
    from .store import ZooKeeperStore, open_zookeeper

__all__ = ["ZooKeeperStore", "open_zookeeper"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("kazoo") is None:
        raise Invalid(missing("zookeeper", "kazoo"))
    return getattr(importlib.import_module("kedge.stores.zookeeper.store"), name)
