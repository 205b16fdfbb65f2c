"""What every test has: parallel workers, its rows of the conformance page, settings of hypothesis."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from servers import LocalEtcd
from tests.stores.etcd.served import server

pytest.register_assert_rewrite("tests.kit.transcripts")  # a transcript that fails shows where
pytest_plugins = [
    "pytest_kedge",  # as an entry point where Kedge is installed, and named here for a checkout that is not
    "tests.scheduling",
    "tests.servers",
    "tests.sparks",
    "tests.kafka_servers",
    "tests.kafka_sockets",
    "servers.fixtures",
]

# A shell starts its background jobs with SIGINT ignored, and children inherit that: tests that interrupt a child would
# wait for ever. A signal that has a handler is reset in a child.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests say where they mean Spark: a JVM takes seconds to start.
os.environ["KEDGE_ENGINE"] = "local"

# Timings of examples are those of the machine, which may be shared; they say nothing of the code, so neither a
# deadline nor the check for slow generation may fail a test.
settings.register_profile("kedge", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# On a build server the same commit gives the same result; new examples are looked for on the developer's machine.
settings.register_profile("kedge-ci", settings.get_profile("kedge"), derandomize=True, print_blob=True, database=None)
# The other Pythons of a run are there to show where they differ, not to find what the first one has looked for already.
settings.register_profile("kedge-few", settings.get_profile("kedge-ci"), max_examples=20)
if os.environ.get("KEDGE_TEST_EXAMPLES") == "few":
    settings.load_profile("kedge-few")
else:
    settings.load_profile("kedge-ci" if os.environ.get("CI") else "kedge")


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[LocalEtcd]:
    """In the place of the one of `servers.fixtures`, see `tests.servers`."""
    yield server()
    server().close()
    server.cache_clear()


@pytest.fixture(autouse=True)
def interrupts_end_tests() -> Iterator[None]:
    """Spark sets a handler of SIGINT for the rest of the process, by which the next test would be another one."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The report of a run (scripts/summary.py) has the rows of docs/conformance.md that each test shows."""
    for item in items:
        for marker in item.iter_markers("checklist"):
            item.user_properties += [("checklist", row) for row in marker.args]
