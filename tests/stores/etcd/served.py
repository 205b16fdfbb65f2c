"""The etcd that the tests of a run share, started when the first of them needs it."""

from __future__ import annotations

import functools
import itertools
from typing import Final

from servers import LocalEtcd

_roots: Final = itertools.count(1)


@functools.cache
def server() -> LocalEtcd:
    """The shared server: it runs, and its limits are etcd's own."""
    shared = LocalEtcd(durable=False, sound=False)
    shared.start()
    return shared


def fresh_root() -> str:
    """A prefix below which nothing stands."""
    return f"/root-{next(_roots)}"
