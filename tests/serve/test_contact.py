"""What `kedge serve` prints while its store does not answer."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from kedge.controller.cli.serve import Contact
from servers import LocalEtcd, LocalZooKeeper
from servers.server import LocalServer
from tests.kit.waiting import until
from tests.serve.processes import DEADLINE_S, begun

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
    with kind() as server:
        process = begun(
            *("--json", "--listen", "127.0.0.1:0", "--no-status", "--topic", "orders"),
            *("--store", server.url("/outage", session_timeout=3)),
        )
        try:
            assert process.stdout is not None
            at = json.loads(process.stdout.readline())["bootstrap"]
            assert topics(at).stdout == "orders\n"
            server.pause()
            until(lambda: topics(at).returncode != 0)
            done = topics(at)
            said = f"Error: {at}: no controller is active; its store does not answer\n"
            assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
            server.resume()
            until(lambda: topics(at).stdout == "orders\n")
            assert process.stderr is not None
            lines = process.stderr.readline() + process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            lines += process.communicate(timeout=DEADLINE_S)[1]
        finally:
            server.resume()
            process.kill()
            process.wait(DEADLINE_S)
    assert re.fullmatch(r"kedge: the store does not answer: .+\nkedge: the store answers again\n", lines)
