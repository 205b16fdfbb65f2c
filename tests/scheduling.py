"""Which worker of pytest-xdist runs which tests: those that share servers run on one worker, slow ones begin first.

Rules
* A module runs on one worker, since its fixtures are made once a module (`--dist loadscope`).
* The tests of SHARING start JVMs for a whole session (brokers of Kafka, its clients, Spark), so one worker runs all
  of them: two clusters of Kafka at once leave no processor for the tests beside them.
* They begin first, then modules with slow tests: otherwise one worker ends minutes after the other.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARING: Final = (
    *("tests/clients/", "tests/kafka/", "tests/kafka_brokers/"),
    *("tests/pipeline_spark/", "tests/pipeline_journal/test_spark.py"),
)


class Scheduling(LoadScopeScheduling):
    """loadscope, with the tests of SHARING as one scope."""

    def _split_scope(self, nodeid: str) -> str:
        return "sharing" if _is_shared(nodeid) else nodeid.split("::", 1)[0]


def _is_shared(nodeid: str) -> bool:
    return nodeid.startswith(SHARING)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("full")}
    items.sort(key=lambda item: (not _is_shared(item.nodeid), item.path not in long))
