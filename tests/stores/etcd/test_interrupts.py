"""Ctrl-C inside of gRPC, while it takes down that a call began: it waits for the end of that call ever after."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from kedge.stores import ABSENT, MetadataStore, Put

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0


def interrupt(frame: FrameType, event: str, _: Any) -> None:
    """Ctrl-C when gRPC leaves the lock of its channel, before it is free."""
    caller = frame.f_back
    is_leaving = frame.f_code is threading.Condition.__exit__.__code__
    if event == "call" and is_leaving and caller is not None and caller.f_code.co_filename.endswith("grpc/_channel.py"):
        raise KeyboardInterrupt


@pytest.fixture
def interrupted(store: MetadataStore) -> MetadataStore:
    """It holds an ephemeral key."""
    store.commit([Put("/here", b"", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    gc.collect()
    gc.disable()  # an old call of gRPC that is collected below would take the interrupt
    traced = sys.gettrace()
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            store.get_many(["/a", "/b"], timeout_s=CALL_S)
    finally:
        sys.settrace(traced)
        gc.enable()
    return store


def test_a_store_is_closed_although_its_channel_cannot_be(interrupted: MetadataStore, other: MetadataStore) -> None:
    """The lease is revoked all the same."""
    interrupted.close()
    assert other.get("/here", timeout_s=CALL_S) is None


def test_another_thread_works_on_and_closes_the_store(interrupted: MetadataStore, other: MetadataStore) -> None:
    """Over another connection: the locks of that channel are the interrupted thread's."""
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(interrupted.get, "/here", timeout_s=CALL_S).result(2 * CALL_S)
        assert found is not None
        assert interrupted.session.connected
        pool.submit(interrupted.close).result(2 * CALL_S)
    assert other.get("/here", timeout_s=CALL_S) is None
