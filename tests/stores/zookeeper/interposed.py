"""A client whose requests can be held up at the door of the server, for another client to be faster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from kedge.stores import MetadataStore, open_store
from servers import LocalZooKeeper
from tests.conformance.frames import FrameProxy

EXISTS, MULTI = 3, 14


@contextlib.contextmanager
def before_request(
    server: LocalZooKeeper, chroot: str, opcode: int, number: int, meanwhile: Callable[[], object]
) -> Iterator[MetadataStore]:
    """A store: `meanwhile` happens right before the server gets its `number`-th request of the kind `opcode`."""
    seen = 0

    def judge(requested: int) -> None:
        nonlocal seen
        seen += requested == opcode
        if requested == opcode and seen == number:
            meanwhile()

    proxy = FrameProxy(server.port, judge)
    store = open_store(f"zookeeper://{proxy.address}{chroot}")
    try:
        yield store
        assert seen >= number, f"the client never sent request {number} of the kind"
    finally:
        store.close()
        proxy.close()
