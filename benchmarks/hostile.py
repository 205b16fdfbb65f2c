"""A good client beside each attack of `tests.wire.attacks` on `kedge serve` with users and ACLs. Each attack gets a new
process of it.

The client sends Produce and Metadata at a steady rate, each on a connection of its own. The time of a request begins
when it is due, so requests that wait behind a slow one count as well. The attacker is another process of low priority:
it would run on another machine. ONLY=n runs the n-th attack alone, PART=n divides the sizes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from benchmarks.figures import figure, percentile
from kedge.controller.wire.calls import Address
from kedge.controller.wire.security.users import salted
from tests.kit.waiting import until
from tests.verify.soak.command import OwnProcess
from tests.verify.soak.deeds import KEDGE
from tests.wire.attacks import ATTACKS, PREFIX, Attack
from tests.wire.living import records
from tests.wire.served import RawClient

ONLY, PART, RATE = 0, 1, 20
WARM_S, QUIET_S, ATTACK_S, BACK_S = 12, 15, 30, 60
LOGIN_S: Final = 10.0
"""A login that takes longer did not get in."""
BACK: Final = 1.1
"""Memory is back at so many times what it was before."""
MEMORY_MAX: Final = 6 << 30
"""An attack ends where the server has so much."""
_END_S: Final = 300.0
_TOPIC: Final = "orders"
_RECORD: Final = records(b"." * 20_000)  # a frame above 16 KiB, which waits for room as all large ones do
_RIGHTS: Final = {
    "good": {f"TOPIC:{_TOPIC}": ["READ", "WRITE"]},
    "stranger": {"TOPIC:another": ["READ"]},
    "insider": {f"TOPIC:{PREFIX}*": ["ALL"], f"GROUP:{PREFIX}*": ["ALL"], "BROKER:*": ["CLUSTER_ACTION"]},
}
"""By user, by resource."""


def run() -> None:
    for number, (name, attack) in enumerate(ATTACKS.items(), 1):
        if ONLY in {0, number}:
            with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
                _measure(name, attack, server)


class Server(OwnProcess):
    """`kedge serve` with the users of `_RIGHTS`, whose passwords are their names."""

    def __init__(self, folder: Path) -> None:
        users, acls = folder / "users.json", folder / "acls.json"
        users.write_text(json.dumps({"version": 1, "users": {name: salted(name) for name in _RIGHTS}}))
        rows = [
            {"principal": f"User:{name}", "operations": operations, "resources": [resource]}
            for name, rights in _RIGHTS.items()
            for resource, operations in rights.items()
        ]
        acls.write_text(json.dumps({"version": 1, "acls": rows}))
        for file in (users, acls):
            file.chmod(0o600)
        where = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--json", "--users", str(users)]
        topic = ["--acls", str(acls), "--topic", f"{_TOPIC}:1:3", "--retention", "4MiB", "--rebalance-delay", "0"]
        super().__init__("kedge serve", [*KEDGE, "serve", *where, *topic], folder / "serve.log")

    @property
    def peak(self) -> int:
        """The most resident bytes since the start, or since `forget_peak`."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) << 10

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    @property
    def at(self) -> Address:
        host, _, port = self.said["bootstrap"].rpartition(":")
        return Address(host, int(port))


def _logged_in(at: Address, timeout_s: float = LOGIN_S) -> RawClient:
    client = RawClient(at, timeout_s=timeout_s)
    try:
        client.ask("SaslHandshake", 1, mechanism="PLAIN")
        token = b"\0good\0good"
        assert not client.ask("SaslAuthenticate", 2, auth_bytes=token).error_code
    except BaseException:
        client.__exit__()
        raise
    return client


def _produce(client: RawClient) -> None:
    part = {"index": 0, "records": _RECORD}
    topics = [{"name": _TOPIC, "partition_data": [part]}]
    fields = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000, "topic_data": topics}
    answer = client.ask("Produce", 7, **fields)
    assert not answer.responses[0].partition_responses[0].error_code


def _metadata(client: RawClient) -> Any:
    answer = client.ask("Metadata", 8, topics=[{"name": _TOPIC}])
    assert not answer.topics[0].error_code
    return answer


def _leader(at: Address) -> Address:
    """Of the topic of the good client."""
    with _logged_in(at) as client:
        answer = _metadata(client)
    leader = answer.topics[0].partitions[0].leader_id
    return next(Address(broker.host, broker.port) for broker in answer.brokers if broker.node_id == leader)


class Steady:
    """Asks RATE times a second, in a thread. A request that fails is sent again on a new connection, which `failed`
    counts; its time goes on."""

    def __init__(self, at: Address, ask: Callable[[RawClient], object]) -> None:
        self._at, self._ask = at, ask
        self._client: RawClient | None = None
        self._took: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(LOGIN_S)

    def between(self, from_s: float, to_s: float) -> list[float]:
        """The seconds of all requests that were due then, once all of them are answered."""
        until(lambda: self._took and self._took[-1][0] >= to_s, "the good client is answered", _END_S)
        return [seconds for due_s, seconds in list(self._took) if from_s <= due_s < to_s]

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._over.wait(max(0.0, due_s - time.monotonic())):
            while not self._over.is_set() and not self._is_answered():
                self.failed += 1
            self._took.append((due_s, time.monotonic() - due_s))
            due_s += 1 / RATE
        self._close()

    def _is_answered(self) -> bool:
        try:
            if self._client is None:
                self._client = _logged_in(self._at, _END_S)
            self._ask(self._client)
        except (OSError, AssertionError):
            self._close()
            self._over.wait(1 / RATE)
            return False
        return True

    def _close(self) -> None:
        if self._client is not None:
            self._client.__exit__()
            self._client = None


class Newcomers:
    """A new login and a look at the status page each second, in a thread: how many were tried, and how many got in
    within `LOGIN_S`. `threads`: the most that the server had."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.tried = self.in_time = self.pages = self.threads = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            began_s = time.monotonic()
            self.tried += 1
            self.threads = max(self.threads, self._server.threads)
            with suppress(OSError, AssertionError), _logged_in(self._server.at) as client:
                _metadata(client)
                self.in_time += time.monotonic() - began_s < LOGIN_S
            with suppress(OSError), urllib.request.urlopen(self._server.said["status"], timeout=LOGIN_S):  # noqa: S310 - ours
                self.pages += 1
            if self._over.wait(max(0.0, began_s + 1 - time.monotonic())):
                return


def _measure(name: str, attack: Attack, server: Server) -> None:
    with ExitStack() as stack:
        produces = stack.enter_context(Steady(_leader(server.at), _produce))
        asks = stack.enter_context(Steady(server.at, _metadata))
        quiet_s = time.monotonic() + WARM_S
        attacker_s = quiet_s + QUIET_S
        alone = {"produce": produces.between(quiet_s, attacker_s), "metadata": asks.between(quiet_s, attacker_s)}
        before = server.memory
        server.forget_peak()
        attacked_s, ended_s, newcomers = _attacked(name, attack, server)
        beside = {"produce": produces.between(attacked_s, ended_s), "metadata": asks.between(attacked_s, ended_s)}
        back_s = _until_back(server, before)
        figure(
            f"a good client beside {attack.what.format(_size(attack))}",
            len(beside["produce"]),
            ended_s - attacked_s,
            attack=name,
            peak_rss_bytes=server.peak,
            **{f"{what}_alone_ms": _milliseconds(seconds) for what, seconds in alone.items()},
            **{f"{what}_ms": _milliseconds(seconds) for what, seconds in beside.items()},
            failed=produces.failed + asks.failed,
            rss_before_bytes=before,
            rss_after_bytes=server.memory,
            back_s=back_s,
            logins=[newcomers.in_time, newcomers.tried],
            pages=[newcomers.pages, newcomers.tried],
            threads=newcomers.threads,
        )


def _size(attack: Attack) -> int:
    return max(1, attack.size // PART)


def _attacked(name: str, attack: Attack, server: Server) -> tuple[float, float, Newcomers]:
    """When the attack began and ended, and who came meanwhile."""
    user = "insider" if attack.needs_rights else "stranger"
    command = [sys.executable, "-m", "tests.wire.attacks", name, server.said["bootstrap"], "--login", f"{user}:{user}"]
    command += ["--seconds", str(ATTACK_S), "--part", str(PART), "--page", urlsplit(server.said["status"]).netloc]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as attacker:  # noqa: S603 - ours
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == "begun\n", f"{name} did not begin"
        began_s = time.monotonic()
        with Newcomers(server) as newcomers:
            while attacker.poll() is None and server.memory < MEMORY_MAX:
                time.sleep(0.1)
            attacker.kill()
            ended_s = time.monotonic()
    return began_s, ended_s, newcomers


def _until_back(server: Server, before: int) -> float | None:
    """The seconds until the server has as much memory as before, almost; None: it has more after `BACK_S`."""
    began_s = time.monotonic()
    try:
        until(lambda: server.memory <= BACK * before, timeout_s=BACK_S)
    except AssertionError:
        return None
    return round(time.monotonic() - began_s, 1)


def _milliseconds(seconds: list[float]) -> list[float]:
    """The median and the 99th percentile."""
    return [round(percentile(seconds, share) * 1000, 1) for share in (0.5, 0.99)]
