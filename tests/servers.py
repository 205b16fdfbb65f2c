"""Real servers in tests: the option --no-servers, and the marker that it leaves out.

Rules
* A test that needs a real server carries `@pytest.mark.server` (and `slow`). Where none can be had it fails, and says
  what is missing; only --no-servers, or KEDGE_NO_SERVERS in the environment, leaves it out, and the run says how many.
* An etcd that a test kills under load is a sound one where there is one. The package that stands for etcd elsewhere in
  the tests is not (see `servers.etcd.is_sound`): it loses a write once in a great while, which no client mends.
"""

from __future__ import annotations

import functools
import os
import warnings

import pytest

from servers import NoServer
from servers.etcd import etcd_binary

VARIABLE = "KEDGE_NO_SERVERS"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-servers", action="store_true", help="leave out the tests that need a real server")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("no_servers") and not os.environ.get(VARIABLE):
        return
    out = [item for item in items if item.get_closest_marker("server") is not None]
    if out:
        items[:] = [item for item in items if item.get_closest_marker("server") is None]
        config.hook.pytest_deselected(items=out)


@functools.cache
def has_sound_etcd() -> bool:
    """Whether there is an etcd that may be killed; if not, a warning says so."""
    try:
        etcd_binary(sound=True)
    except NoServer as error:
        warnings.warn(str(error), stacklevel=2)
        return False
    return True
