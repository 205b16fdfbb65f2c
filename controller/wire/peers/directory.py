"""Where gateways are found: `/kedge/gateways/<controller id>`, an ephemeral key with an address."""

from __future__ import annotations

from contextlib import suppress

from controller.codec import BadValue, keys
from controller.codec.small import decode_gateway, encode_gateway
from controller.wire.calls import Address
from stores.base import ABSENT, Conflict, Delete, MetadataStore, Put
from stores.recipes import reap_own_leftover

_TIMEOUT_S = 5.0


class Directory:
    """Of the gateway of one controller. Its calls wait for the store, and raise what that raises."""

    def __init__(self, store: MetadataStore, controller_id: int) -> None:
        self._store = store
        self._key = keys.gateway(controller_id)
        self._published: int | None = None

    @property
    def is_published(self) -> bool:
        """Whether others find this gateway, as far as is known without asking."""
        return self._published == self._store.session.session_id

    def publish(self, address: Address) -> None:
        """Others find this gateway there, as long as this session lives. A key of an earlier session goes: a controller
        has one gateway."""
        session_id = self._store.session.session_id
        value = encode_gateway(address.host, address.port)
        reap_own_leftover(self._store, self._key, lambda _: True, _TIMEOUT_S)
        entry = self._store.get(self._key, sync=True, timeout_s=_TIMEOUT_S)
        expected = ABSENT if entry is None else entry.version
        self._store.commit([Put(self._key, value, expected, ephemeral=True)], timeout_s=_TIMEOUT_S)
        self._published = session_id

    def withdraw(self) -> None:
        """Nobody finds it any more."""
        entry = self._store.get(self._key, sync=True, timeout_s=_TIMEOUT_S)
        if entry is not None and entry.owner == self._store.session.session_id:
            with suppress(Conflict):  # somebody put it anew, and so it is not ours
                self._store.commit([Delete(self._key, entry.version)], timeout_s=_TIMEOUT_S)
        self._published = None

    def find(self, controller_id: int) -> Address | None:
        """Where the gateway of that controller is; None where it has none, or none that can be read."""
        entry = self._store.get(keys.gateway(controller_id), timeout_s=_TIMEOUT_S)
        try:
            return None if entry is None else Address(*decode_gateway(entry.value))
        except BadValue:
            return None
