"""The memory store: a server in this process, and its clients.

It is the default store for embedding, and the base of all deterministic tests. It implements the whole contract of
`kedge.stores.base`: sessions that expire, ephemeral keys, two ways of counting versions, hints, and methods that
disconnect a client. It starts no thread and reads only the clock that it is given.
"""

from .client import MemoryStore as MemoryStore
from .server import MemoryServer as MemoryServer
from .subscription import MemorySubscription as MemorySubscription
