"""A cluster that is moved to a second real store, by the command in a process of its own, to be killed as well.

Brokers are registered in both stores. Controllers 101.. run over the first one, 201.. over the second, where they await
the cluster. What both servers wrote down is held against the rig's invariants: all of the first one, and all of the
second one from the commit on that gave it free.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Container
from pathlib import Path
from typing import Final, Self

from kedge.controller.codec import keys
from kedge.controller.codec.migration import COMPLETE, decode_holder, decode_marker
from kedge.controller.rig.committed import CommittedTree
from kedge.controller.rig.server import FOREIGN
from kedge.stores import open_store
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token
from tests.real.cluster import CALL_S, Cluster, RegisteredDuties
from tests.real.remote import CHECKOUT, RemoteNode, Seat
from tests.real.served import Served
from tests.real.witness import Shadow
from tests.real.writes import Deleted, Transaction, Written

COMMAND: Final = (sys.executable, "-c", "from kedge.controller.cli.root import kedge; kedge()", "store", "migrate")


class MovedShadow(Shadow):
    """The clients that move a cluster are not its controllers."""

    def __init__(self) -> None:
        super().__init__()
        self._held_epochs: set[int] = set()

    def _sender(self, transaction: Transaction) -> str:
        written = {write.key: write.value or b"" for write in transaction.writes if isinstance(write, Written)}
        if decode_holder(written.get(LEADER_KEY, b"")) is not None:
            self._held_epochs.add(int(written.get(EPOCH_KEY, b"-1")))
            return FOREIGN
        deposes = any(isinstance(write, Deleted) and write.key == LEADER_KEY for write in transaction.writes)
        if deposes and EPOCH_KEY in written:
            return FOREIGN
        if TOKEN_KEY in written and Token.decode(written[TOKEN_KEY]).controller_epoch in self._held_epochs:
            return FOREIGN
        return super()._sender(transaction)


class Command:
    """`kedge store migrate`, under way. It is killed once it says `kill_at`."""

    def __init__(self, *arguments: str, kill_at: str | None = None) -> None:
        self.said: list[str] = []
        self._kill_at = kill_at
        self._process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line)
            if self._kill_at is not None and self._kill_at in line:
                self._process.kill()

    def has_said(self, what: str) -> bool:
        return any(what in line for line in self.said)

    @property
    def is_over(self) -> bool:
        """Whether it ended, and all that it said was heard."""
        return self._process.poll() is not None and not self._hearing.is_alive()

    @property
    def exit_code(self) -> int:
        assert self._process.returncode is not None
        return self._process.returncode

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._hearing.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


class MovedCluster(Cluster):
    """On what `served` serves, to be moved to what `second` does. `late`: brokers that are not registered there before
    `register_next`, so that a move waits for them."""

    def __init__(
        self, served: Served, second: Served, folder: Path, *, session_s: float, late: Container[int] = ()
    ) -> None:
        super().__init__(served, folder, controllers=2, session_s=session_s)
        self.first, self.second = served, second
        self.server = self.shadow = MovedShadow()
        self.next_shadow = MovedShadow()
        self.next_store = open_store(second.url(30))
        self._former_store = self.store
        self._late = late
        self._commands: list[Command] = []
        for duties in self.duties.values():
            duties.server = self.shadow
        seat = Seat(f"{second.url(session_s)}#awaits")
        self.next_nodes = {number: RemoteNode(number, seat, folder / f"{number}.log") for number in (201, 202)}

    def __enter__(self) -> Self:
        super().__enter__()
        for broker_id in self.duties:
            if broker_id not in self._late:
                self.register_next(broker_id)
        self.remotes.update(self.next_nodes)
        self.next_nodes[201].start()
        self.until(lambda: self.next_nodes[201].has_begun, "a controller awaits the cluster")
        return self

    def __exit__(self, *arguments: object) -> None:
        for command in self._commands:
            command.end()
        super().__exit__(*arguments)
        self._former_store.close()
        self.next_store.close()

    def register_next(self, broker_id: int) -> None:
        """The broker is registered in the second store, too."""
        duties = self.duties[broker_id]
        assert isinstance(duties, RegisteredDuties)
        duties.register_next_in(self.next_store, self.next_shadow)

    def begin(self, *options: str, kill_at: str | None = None) -> Command:
        """The command is run, not waited for."""
        command = Command(self.first.url(10), self.second.url(10), *options, kill_at=kill_at)
        self._commands.append(command)
        return command

    def ended(self, command: Command) -> Command:
        """It is over."""
        self.until(lambda: command.is_over, "the command ends")
        return command

    def phases(self) -> tuple[str, str]:
        """What the markers of both stores say, "" where there is none, once these clients are in contact."""
        stores = (self.store, self.next_store)
        self.until(lambda: all(store.session.connected for store in stores), "contact with both stores")
        found = [store.get(keys.MIGRATION, sync=True, timeout_s=CALL_S) for store in stores]
        first, second = ("" if entry is None else decode_marker(entry.value).phase for entry in found)
        return first, second

    def leader_epochs(self) -> dict[str, int]:
        """Of every state key of the first store, as it is."""
        self.look()
        return {keys.state(tp.topic, tp.partition): p.leader_epoch for tp, p in self.committed.partitions.items()}

    def follow(self) -> None:
        """The cluster was moved: what counts from now on stands in the second store."""
        self.look()
        transactions = iter(self.second.log.new())
        for transaction in transactions:
            self.next_shadow.take_in(transaction)
            if _gives_free(transaction):
                break
        self.served, self.store = self.second, self.next_store
        self.server = self.shadow = self.next_shadow
        self.committed = CommittedTree(self.timeline)
        self.committed.load(self.shadow)
        self.invariants.moved(self.committed)
        for transaction in transactions:
            self.shadow.take_in(transaction)
            self.invariants.step()


def _gives_free(transaction: Transaction) -> bool:
    """Whether it is the commit that says "complete"."""
    found = [write.value for write in transaction.writes if isinstance(write, Written) and write.key == keys.MIGRATION]
    return any(value is not None and decode_marker(value).phase == COMPLETE for value in found)
