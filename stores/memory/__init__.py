"""The memory store: a server that lives in this process, and clients of it.

First-class, not a stub: the default for embedding and the ground on which every deterministic test stands. It keeps the
whole contract of `stores.base`: sessions that expire, ephemeral keys, two ways of counting versions, hints, and hooks
that cut a client off. It starts no thread and reads no clock but the one it is given.
"""

from stores.memory.client import MemoryStore
from stores.memory.server import MemoryServer
from stores.memory.subscription import MemorySubscription

__all__ = ["MemoryServer", "MemoryStore", "MemorySubscription"]
