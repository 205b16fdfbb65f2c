"""`kedge serve` as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest

from kedge.controller.wire.calls import Address
from tests.wire.served import RawClient

DEADLINE_S = 60.0
CHECKOUT = Path(__file__).resolve().parents[2]
NOTHING, ANYTHING = "(?!)", ".*"
NOT_REACHED = r"callbacks of broker \d+ failed and will be repeated: NotDelivered: .*"
_KEDGE = (sys.executable, "-c", "from kedge.controller.cli import main; main()", "serve")


def begun(*arguments: str) -> subprocess.Popen[str]:
    """The process, its output in pipes."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [*_KEDGE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@attrs.define
class Running:
    """One that has begun. `at`: where what listens, as it says itself."""

    process: subprocess.Popen[str]
    at: dict[str, Any]
    is_killed: bool = False

    def status(self) -> dict[str, Any]:
        """What its status page shows."""
        with urllib.request.urlopen(f"{self.at['status']}status.json", timeout=DEADLINE_S) as answer:  # noqa: S310 - ours
            found: dict[str, Any] = json.load(answer)
        return found

    @property
    def is_active(self) -> bool:
        """Whether its controller leads, as it says."""
        return self.status()["controller_epoch"] is not None

    def kill(self) -> None:
        """It dies without a word. Idempotent."""
        self.is_killed = True
        self.process.kill()
        self.process.wait(DEADLINE_S)


@contextmanager
def running(*arguments: str, may_say: str = NOTHING) -> Iterator[Running]:
    """At the end it gets SIGTERM, and has to end, unless it was killed; each line that it said matches `may_say`."""
    process = begun("--json", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", *arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        found = Running(process, json.loads(line))
        yield found
        if not found.is_killed:
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=DEADLINE_S)
        assert found.is_killed or process.returncode == 0, said
        assert not [line for line in said.splitlines() if not re.fullmatch(may_say, line)]
    except BaseException as error:
        process.kill()
        error.add_note(f"the process said: {process.communicate(timeout=DEADLINE_S)[1]}")
        raise
    finally:
        process.kill()
        process.wait(DEADLINE_S)


@contextmanager
def serving(*arguments: str, may_say: str = NOTHING) -> Iterator[dict[str, Any]]:
    """Where what listens."""
    with running(*arguments, may_say=may_say) as found:
        yield found.at


def refuses_orders(place: str) -> None:
    """A client that is no gateway and sends the broker a partition is disconnected, and was offered nothing else."""
    host, _, port = place.rpartition(":")
    state = {"partition_index": -5, "leader": 1, "leader_epoch": 0, "isr": [1], "partition_epoch": 0, "replicas": [1]}
    topic = {"topic_name": "t", "topic_id": UUID(int=5), "partition_states": [{**state, "is_new": True}]}
    order = {"controller_id": 101, "controller_epoch": 2**31 - 1, "topic_states": [topic], "live_leaders": []}
    with RawClient(Address(host, int(port))) as client:
        offered = {row.api_key for row in client.ask("ApiVersions", 4).api_keys}
        assert not {4, 5, 6} & offered
        with pytest.raises(AssertionError, match="hung up"):
            client.ask("LeaderAndIsr", 7, broker_epoch=2**62, **order)
