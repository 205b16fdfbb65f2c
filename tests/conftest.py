"""What every test has: the counted checklist, the ledger of reruns, hypothesis' settings, data beside the checkout."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "pytest_kedge",  # as an entry point where Kedge is installed, and named here for a checkout that is not
    "tests.checklist",
    "tests.reruns",
    "tests.servers",
    "tests.sparks",
    "tests.kafka_servers",
    "servers.fixtures",
]

# A shell starts its background jobs with SIGINT ignored, and children inherit that: tests that interrupt a child would
# wait for ever. A signal that has a handler begins anew in a child.
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
def shared_data() -> Path:
    """The folder of recorded inputs, `shared/data` beside the checkout; the test is skipped where it is missing."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the recorded inputs are missing: no folder ../shared/data beside the checkout")
    return folder
