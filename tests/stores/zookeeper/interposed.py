"""What others do on the server: nodes as Kafka makes them, and writes just before a request of ours arrives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from kazoo.client import KazooClient
from kazoo.protocol.serialization import Create
from kazoo.security import OPEN_ACL_UNSAFE

from kedge.stores import MetadataStore, open_store
from servers import LocalZooKeeper
from tests.conformance.frames import FrameProxy

MULTI = 14


def make(raw: KazooClient, path: str, data: bytes | None) -> None:
    """Create a node as Kafka does, also one without data, which kazoo's own call cannot."""
    answer = raw.handler.async_result()
    raw._call(Create(path, data, OPEN_ACL_UNSAFE, 0), answer)  # noqa: SLF001
    answer.get(timeout=10)


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
