"""Fixtures of pytest: clusters for tests of Kafka clients.

`kedge_cluster` is a `kedge.testing.Cluster`, `kedge_server` a `kedge.testing.Server`; each test gets its own. Their
options come from the nearest marker: `@pytest.mark.kedge(brokers=5, racks=["a", "b"])`.

pytest imports this module wherever Kedge is installed. So it is a module of its own and imports pytest alone: it costs
nothing to those who do not use it, even if a folder of theirs hides a package of Kedge.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kedge.testing import Cluster, Server


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kedge(brokers=3, racks=('a', 'b', 'c'), ...): options of kedge_cluster and kedge_server"
    )
    for module in (r"kafka\.protocol\.schemas\.load_json", r"importlib\.resources\._legacy"):
        # On Python 3.11 and 3.12, two hundred where a test imports kafka-python itself.
        config.addinivalue_line("filterwarnings", f"ignore:(read|open)_text is deprecated:DeprecationWarning:{module}")


@pytest.fixture
def kedge_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A Kafka-style cluster in threads of this process (`kedge.testing.Cluster`)."""
    with _testing().Cluster(**_options(request)) as cluster:
        yield cluster


@pytest.fixture
def kedge_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A Kafka-style cluster in a process of `kedge serve` (`kedge.testing.Server`)."""
    with _testing().Server(**_options(request)) as server:
        yield server


def _testing() -> ModuleType:
    try:
        from kedge import testing  # noqa: PLC0415 - only where a fixture is used
    except ImportError as error:
        pytest.fail(str(error), pytrace=False)
    return testing


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("kedge")
    if marker is not None and marker.args:
        pytest.fail(f"@pytest.mark.kedge takes options by name, as brokers=3; got {marker.args!r}", pytrace=False)
    return {} if marker is None else dict(marker.kwargs)
