"""Commands of operators against a gateway with three brokers that keep records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from click.testing import Result

from tests.kit.commands import run as run_kedge
from tests.wire.living import Living

Run = Callable[..., Result]


def commands_of(bootstrap: str) -> Run:
    """`kedge kafka COMMAND` with the other arguments, for these servers."""

    def invoke(command: str, *arguments: object) -> Result:
        return run_kedge("kafka", command, "--bootstrap-server", bootstrap, *arguments)

    return invoke


@pytest.fixture
def living() -> Iterator[Living]:
    with Living() as opened:
        yield opened


@pytest.fixture
def run(living: Living) -> Run:
    return commands_of(living.bootstrap)
