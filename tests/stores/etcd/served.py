"""The etcd that the tests of a run share, started when the first of them needs it."""

from __future__ import annotations

import itertools
from typing import Final

from servers import LocalEtcd
from servers.fixtures import shared_etcd

_roots: Final = itertools.count(1)


def server() -> LocalEtcd:
    """The shared server: it runs, and its limits are etcd's own."""
    return shared_etcd()


def fresh_root() -> str:
    """A prefix below which nothing stands."""
    return f"/root-{next(_roots)}"
