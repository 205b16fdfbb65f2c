"""Stores for the tests of `kedge store`: a memory store's file, and an empty root of each real server."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.stores import ABSENT, MetadataStore, Put, open_store
from tests.conformance.zookeeper import server as zookeeper
from tests.stores.etcd.served import server as etcd

_numbers = itertools.count()
REAL = [pytest.mark.server, pytest.mark.slow]
VALUES = {"/controller_epoch": b"7", "/brokers/topics/t": b'{"partitions":{"0":[1]}}', "/bytes": b"\xff\x00", "/e": b""}


def memory_url(folder: Path) -> str:
    return f"memory:{folder / f'store-{next(_numbers)}.json'}"


def zookeeper_url(folder: Path) -> str:
    """Below a chroot that is not there."""
    return f"zookeeper://{zookeeper().address}/{folder.name}-{os.getpid()}-{next(_numbers)}?connect_timeout=10"


def etcd_url(folder: Path) -> str:
    return etcd().url(f"/{folder.name}-{os.getpid()}-{next(_numbers)}", connect_timeout=10)


KINDS = {"memory": memory_url, "zookeeper": zookeeper_url, "etcd": etcd_url}
Make = Callable[[Path], str]
_real = [pytest.param(make, id=name, marks=REAL) for name, make in KINDS.items() if name != "memory"]
everywhere = pytest.mark.parametrize("make", [pytest.param(memory_url, id="memory"), *_real])
on_servers = pytest.mark.parametrize("make", _real)


def run(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(kedge, ["store", *arguments], input=given)


def filled(url: str, values: Mapping[str, bytes] = VALUES) -> str:
    """The url, below which `values` stand."""
    with closing(open_store(url)) as store:
        store.commit([Put(key, value, ABSENT) for key, value in values.items()], timeout_s=10)
    return url


def content(url: str) -> dict[str, bytes]:
    """What stands there."""
    with closing(_opened(url)) as store:
        return {entry.key: entry.value for entry in store.snapshot("/", timeout_s=10).entries}


def _opened(url: str) -> MetadataStore:
    """A memory store is only read: closing it would write its file."""
    return open_store(url, read_only=url.startswith("memory:"))


def is_one_line(result: Result, code: int) -> bool:
    return (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (code, "", 1)
