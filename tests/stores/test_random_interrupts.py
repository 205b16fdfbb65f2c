"""Ctrl-C at random moments of a store's calls: a few of them, and one that is lost on purpose."""

from __future__ import annotations

import contextlib
import json
import time

import pytest

from tests.verify.__main__ import main
from tests.verify.interrupt import seconds_to_end

pytestmark = pytest.mark.slow


@pytest.mark.full
@pytest.mark.server
@pytest.mark.parametrize("store", ["zookeeper", "etcd"])
def test_each_is_raised_and_its_process_ends(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interrupt", "--store", store, "--tries", "5"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["tries"], said["ended"] + said["ignored"]) == (5, 5)


def lose(_: str) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(60)


def test_one_that_is_lost_is_found() -> None:
    assert seconds_to_end(lose, "", 0.5) == "lost"


class Destroyed:
    def __del__(self) -> None:
        time.sleep(60)


def destroy(_: str) -> None:
    Destroyed()


def test_python_ignores_one_in_a_destructor() -> None:
    assert seconds_to_end(destroy, "", 0.5) == "ignored"
