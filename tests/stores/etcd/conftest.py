"""Clients of the shared etcd, each below a fresh root, closed after the test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from kedge.stores import MetadataStore, open_store
from servers import LocalEtcd, Proxy
from tests.stores.etcd.served import fresh_root


@pytest.fixture
def root() -> str:
    return fresh_root()


@pytest.fixture
def opening() -> Iterator[Callable[[str], MetadataStore]]:
    """`open_store`, and the stores are closed in the end."""
    with contextlib.ExitStack() as stack:

        def opened(url: str) -> MetadataStore:
            store = open_store(url)
            stack.callback(store.close)
            return store

        yield opened


@pytest.fixture
def store(root: str, opening: Callable[[str], MetadataStore], etcd_server: LocalEtcd) -> MetadataStore:
    return opening(etcd_server.url(root))


@pytest.fixture
def other(root: str, opening: Callable[[str], MetadataStore], etcd_server: LocalEtcd) -> MetadataStore:
    """A second client of the same root."""
    return opening(etcd_server.url(root))


@pytest.fixture
def proxy(etcd_server: LocalEtcd) -> Iterator[Proxy]:
    """In front of the shared server."""
    with contextlib.closing(Proxy(etcd_server.address)) as proxy:
        yield proxy
