"""What `kedge serve` prints while its store does not answer."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from kedge.controller.cli.serve import Contact
from servers import LocalEtcd, LocalZooKeeper
from servers.server import LocalServer
from tests.kit.waiting import until
from tests.serve.processes import DEADLINE_S, running

KEDGE = (sys.executable, "-c", "from kedge.controller.cli import main; main()")


@pytest.mark.parametrize(
    "found, printed",
    [
        ([None, "", None], []),
        (["h: no answer"] * 2 + [None], []),
        (["", "h: no answer", "h: refused", "h: no answer", "h: late"], ["the store does not answer: h: refused"]),
        ([""] * 9 + [None] * 2, ["the store does not answer", "the store answers again"]),
        (
            [*"aaa", None, "b", "b", None, *"ccc", None],
            [
                "the store does not answer: a",
                "the store answers again",
                "the store does not answer: c",
                "the store answers again",
            ],
        ),
    ],
)
def test_silence_is_one_line_and_its_end_another(found: list[str | None], printed: list[str]) -> None:
    """None of them in a silence that is over soon."""
    looks = iter(found)
    contact = Contact(lambda: next(looks))
    assert [line for _ in found if (line := contact.look()) is not None] == printed


def topics(bootstrap: str) -> subprocess.CompletedProcess[str]:
    command = [*KEDGE, "kafka", "topics", "--list", "--bootstrap-server", bootstrap]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


@pytest.mark.server
@pytest.mark.full
@pytest.mark.parametrize("kind", [LocalEtcd, LocalZooKeeper])
def test_paused_store_is_named_to_operators_and_to_commands(kind: Callable[[], LocalServer]) -> None:
    """It goes on when the store does."""
    lines = r"kedge: the store (does not answer: .+|answers again)"
    with kind() as server, ExitStack() as stack:
        store = ("--store", server.url("/outage", session_timeout=3))
        found = stack.enter_context(running("--topic", "orders", *store, may_say=lines))
        stack.callback(server.resume)
        at = found.at["bootstrap"]
        assert topics(at).stdout == "orders\n"
        server.pause()
        until(lambda: topics(at).returncode != 0)
        done = topics(at)
        said = f"Error: {at}: no controller is active; its store does not answer\n"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
        server.resume()
        until(lambda: topics(at).stdout == "orders\n")
        assert found.process.stderr is not None
        said = found.process.stderr.readline() + found.process.stderr.readline()
        assert re.fullmatch(r"kedge: the store does not answer: .+\nkedge: the store answers again\n", said)
