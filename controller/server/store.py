"""The store of a live cluster: the memory store, or clients of a real one, which other processes may share."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from ...stores.base import MetadataStore, StoreError
from ...stores.recipes import EPOCH_KEY, decode_epoch
from ..simulated.store import Client, ClusterStore, Connection, StoreClient

FIRST_PRODUCER_ID: Final = 1001
_ID_BITS: Final = 62
_READ_S: Final = 10.0
_ids: Final = random.SystemRandom()


class LiveServer(ClusterStore):
    """`opens`: opens a client of a real store; None: the store is this memory server, made with `options`. It is closed
    after its clients."""

    def __init__(self, opens: Callable[[], MetadataStore] | None = None, **options: Any) -> None:
        self._opens = opens
        self._observer = None if opens is None else opens()
        if self._observer is not None:
            options = {"session_timeout_s": self._observer.session_timeout_s}
        super().__init__(**options)

    @property
    def is_shared(self) -> bool:
        """Whether other processes may have clients of the store, too."""
        return self._opens is not None

    @property
    def silence(self) -> str | None:
        """Why the store cannot be reached, empty if that is not known; None while it can. Never blocks."""
        session = None if self._observer is None else self._observer.session
        return None if session is None or session.connected else session.why

    @property
    def first_producer_id(self) -> int:
        """The first id for producers. Every process that shares the store gives out ids, also after a restart, and no
        two producers may have the same; so it is random there."""
        return _ids.getrandbits(_ID_BITS) if self.is_shared else FIRST_PRODUCER_ID

    def controller_epoch(self) -> int:
        """The newest epoch that a controller got from the store. Raises ConnectionError where the store does not
        answer."""
        try:
            entry = self.connection().get(EPOCH_KEY, sync=True, timeout_s=_READ_S)
        except StoreError as error:
            raise ConnectionError(f"the controller epoch cannot be read: {error}") from error
        return 0 if entry is None else decode_epoch(entry.value)

    def client(self) -> Client:
        """A new client."""
        return super().client() if self._opens is None else StoreClient(self._opens)

    def connection(self) -> Connection | StoreClient:
        """A client that opens sessions for others, and needs none itself."""
        return super().connection() if self._opens is None else StoreClient(self._opens, self._observer)

    def close(self) -> None:
        """The memory server is saved if it has a file; the observer of a real store is closed."""
        if self._observer is not None:
            self._observer.close()
        super().close()
