"""A controller whose brokers are elsewhere: a gateway that they register at, and brokers in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, Self
from uuid import UUID

from kedge import Controller
from kedge.controller.wire import Gateway
from kedge.controller.wire.reading import as_uuid
from kedge.controller.wire.remote import BROKERS_MAX, RemoteHost, with_remote_brokers
from kedge.stores import MemoryServer, MemoryStore
from tests.kit.waiting import until

CLUSTER: Final = "kedge-under-test"
SCRIPT: Final = Path(__file__).resolve().parents[2] / "examples" / "remote" / "broker.py"


class Remote:
    """`with Remote() as remote:` no broker yet. `session_s`: a broker that is silent for so long is dead.
    `brokers_max`: so many may register. `server`: the data that several share, of which one leads. Options are the
    controller's."""

    def __init__(
        self,
        *,
        session_s: float = 30.0,
        brokers_max: int = BROKERS_MAX,
        server: MemoryServer | None = None,
        listeners: Sequence[str] = (),
        **options: Any,
    ) -> None:
        self._apis = with_remote_brokers(session_s=session_s, brokers_max=brokers_max)
        self._server, self._options, self._listeners = server, options, listeners
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        store = self._stack.enter_context(closing(MemoryStore(self._server)))
        self.host = self._stack.enter_context(closing(RemoteHost()))
        options = {"node_id": 1, "host": self.host, **self._options}
        self.controller = self._stack.enter_context(Controller(store, **options))
        self.host.attach(self.controller)
        self.controller.start()
        until(lambda: self.controller.active_id is not None)
        self.gateway = self._stack.enter_context(
            Gateway(self.controller, cluster_id=CLUSTER, apis=self._apis, broker_listener=self._listeners)
        )
        self.address = self.gateway.address
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def broker(self, broker_id: int, rack: str | None = None) -> Process:
        """The example, started; it goes with the cluster, unless it went before."""
        return self._stack.enter_context(Process(broker_id, f"{self.address.host}:{self.address.port}", rack))

    def live(self, *broker_ids: int) -> None:
        """Waits until these are the live brokers."""
        until(lambda: self.controller.describe().live_brokers == broker_ids)

    def view(self, read: Callable[[Any], Any]) -> Any:
        """A part of what is committed."""
        return self.controller.query(read).result(30)

    def partition(self, topic: str, partition: int = 0) -> Any:
        """As it is committed."""
        return self.view(lambda view: view.partition(topic, partition))

    def topic_id(self, topic: str) -> UUID | None:
        """The id of a topic that there is."""
        return as_uuid(self.view(lambda view: view.topic(topic).topic_id))

    def partition_epoch(self, topic: str, partition: int = 0) -> int:
        """Of a partition that there is."""
        return int(self.view(lambda view: view.partition_epoch(view.partition(topic, partition))))


class Process:
    """An example broker in a process of its own."""

    def __init__(
        self, broker_id: int, gateway: str, rack: str | None, cluster_id: str = CLUSTER, patience_s: float = 60.0
    ) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        command = [sys.executable, str(SCRIPT), "--gateway", gateway, "--id", str(broker_id), "--beat", "0.1"]
        command += ["--patience", str(patience_s), "--cluster-id", cluster_id, *(["--rack", rack] if rack else [])]
        self._process = subprocess.Popen(command, stdout=self._said, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()

    def kill(self) -> None:
        """It dies without a word."""
        self._process.kill()
        self._process.wait()

    def ask_to_go(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    def said(self) -> list[str]:
        """Its lines so far."""
        self._said.seek(0)
        return self._said.read().splitlines()
