"""Real servers in tests: the option --no-servers, and the marker that it leaves out.

Rules
* A test that needs a real server carries `@pytest.mark.server` (and `slow`). Where none can be had it fails, and says
  what is missing; only --no-servers, or KEDGE_NO_SERVERS in the environment, leaves it out, and the run says how many.
* An etcd that a test kills under load is a sound one where there is one, as for everyone who starts a `LocalEtcd` (see
  `servers.etcd.is_sound`). The one that tests share is the first of this machine (`sound=False`): so the tests meet two
  versions where there are two.
"""

from __future__ import annotations

import os

import pytest

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
