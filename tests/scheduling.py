"""Which worker of pytest-xdist runs which tests: those that share servers run on one worker, slow ones begin first.

Rules
* A module runs on one worker, since its fixtures are made once a module (`--dist loadscope`).
* The tests of a scope of SHARED start JVMs for a whole session, so one worker runs all of them, except those of ALONE,
  which have none, or one for each test: with these, the scope of Kafka's clients took as long as the whole run. Kafka's
  clients and brokers are one scope: two clusters of Kafka at once leave no processor for the tests beside them.
* These scopes begin first, then modules with slow tests: otherwise one worker ends minutes after the others.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

JOURNAL_ON_SPARK: Final = ("end_to_end", "spark", "wave_times")
SHARED: Final = {
    "spark": ("tests/pipeline_spark/", *(f"tests/pipeline_journal/test_{name}.py" for name in JOURNAL_ON_SPARK)),
    "kafka": ("tests/kafka_brokers/", "tests/kafka/", "tests/clients/"),
}
ALONE: Final = (
    "tests/clients/test_franz_go_itself.py",
    "tests/pipeline_spark/test_job.py",
    "tests/pipeline_spark/test_lakes.py",
)


class Scheduling(LoadScopeScheduling):
    """loadscope, with the scopes of SHARED."""

    def _split_scope(self, nodeid: str) -> str:
        return _shared(nodeid) or nodeid.split("::", 1)[0]


def _shared(nodeid: str) -> str:
    if nodeid.startswith(ALONE):
        return ""
    return next((scope for scope, places in SHARED.items() if nodeid.startswith(places)), "")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("full")}
    items.sort(key=lambda item: ([*SHARED, ""].index(_shared(item.nodeid)), item.path not in long))
