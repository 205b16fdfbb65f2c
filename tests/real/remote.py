"""Controller processes as the test sees them: started, killed, stopped, and asked."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import attrs

from kedge import AcceptedIsr, TopicPartition
from kedge.controller.rig.node import State
from tests.real.messages import Answer, Ask, Call, Leads, Notice, Return

CHECKOUT = Path(__file__).resolve().parents[2]
END_S = 30.0


@attrs.frozen
class Seat:
    """Where a controller runs: the store as it knows it, and the command that brings its own command there."""

    url: str
    enter: tuple[str, ...] = ()


class RemoteController:
    """The controller of one process, by its wire. A future is never done if the process dies before it answered."""

    def __init__(self, wire: Connection) -> None:
        self.controller_epoch: int | None = None
        self._wire = wire
        self._numbers = itertools.count()
        self._asked: dict[int, tuple[str, Future[Any]]] = {}
        self.refused: list[tuple[str, Exception]] = []  # what was asked and answered by an error

    @property
    def is_active(self) -> bool:
        return self.controller_epoch is not None

    def ask(self, method: str, *arguments: object, **options: object) -> Future[Any]:
        number = next(self._numbers)
        future: Future[Any] = Future()
        self._asked[number] = (method, future)
        with contextlib.suppress(ConnectionError):  # it ended, which the next call reports
            self._wire.send(Ask(number, method, arguments, options))
        return future

    def alter_isr(self, *arguments: object, **options: object) -> Future[AcceptedIsr]:
        return self.ask("alter_isr", *arguments, **options)

    def controlled_shutdown(self, *arguments: object, **options: object) -> Future[tuple[TopicPartition, ...]]:
        return self.ask("controlled_shutdown", *arguments, **options)

    def report_log(self, *arguments: object, **options: object) -> None:
        self.ask("report_log", *arguments, **options)

    def answered(self, answer: Answer) -> None:
        method, future = self._asked.pop(answer.number)
        if answer.error is not None:
            self.refused.append((method, answer.error))
            future.set_exception(answer.error)
        else:
            future.set_result(answer.value)


class RemoteNode:
    """A node, which may be up, down, or stopped, for simulated brokers to ask: it has what they and the rig use of
    `kedge.controller.rig.node.Node`."""

    def __init__(self, node_id: int, seat: Seat, log: Path, module: str = "tests.real.controller_process") -> None:
        self.node_id = node_id
        self.name = f"controller {node_id}"
        self.state = State.DOWN
        self.process: subprocess.Popen[bytes] | None = None
        self.controller: RemoteController | None = None
        self.has_begun = False
        self.notices: list[Notice] = []
        self._seat = seat
        self._log = log
        self._module = module
        self._wire: Connection | None = None

    @property
    def is_up(self) -> bool:
        return self.state is State.UP

    @property
    def is_active(self) -> bool:
        return self.is_up and self.controller is not None and self.controller.is_active

    def speaking(self) -> AbstractContextManager[None]:
        """Commits are witnessed at the server, and their sender does not matter."""
        return nullcontext()

    @property
    def asked(self) -> RemoteController | None:
        return self.controller

    @property
    def is_told(self) -> bool:
        return self.is_active

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """A new process, not waited for."""
        mine, theirs = Pipe()
        command = [*self._seat.enter, sys.executable, "-m", self._module]
        command += [self._seat.url, str(self.node_id)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            )
        theirs.close()
        self._wire, self.controller = mine, RemoteController(mine)
        self.state, self.has_begun = State.UP, False

    def kill(self) -> None:
        """Kill -9."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait(END_S)
        if self._wire is not None:
            self._wire.close()
        self.process = self.controller = self._wire = None
        self.state = State.DOWN

    def stop(self) -> None:
        """SIGSTOP: it does nothing, and gets no message, until `go_on`."""
        self.state = State.PAUSED
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)
        self.state = State.UP

    @property
    def is_paused(self) -> bool:
        return self.state is State.PAUSED

    def log_tail(self) -> str:
        """The end of what its processes printed."""
        return self._log.read_text(errors="replace")[-2000:]

    @property
    def wire(self) -> Connection | None:
        return self._wire

    def hear(self) -> list[Call]:
        """Take what it said; the callbacks among it, which wait for `answer`."""
        calls = []
        assert self._wire is not None
        assert self.controller is not None
        try:
            while self._wire.poll():
                message = self._wire.recv()
                if isinstance(message, Call):
                    calls.append(message)
                elif isinstance(message, Leads):
                    self.has_begun, self.controller.controller_epoch = True, message.controller_epoch
                elif isinstance(message, Notice):
                    self.notices.append(message)
                else:
                    self.controller.answered(cast(Answer, message))
        except (EOFError, OSError):
            raise AssertionError(f"{self.name} ended by itself: {self.log_tail()}") from None
        return calls

    def answer(self, reply: Return) -> None:
        assert self._wire is not None
        with contextlib.suppress(ConnectionError):  # as above
            self._wire.send(reply)


def speaking(nodes: Iterable[RemoteNode], timeout_s: float) -> list[RemoteNode]:
    """Those that said something, waited for up to `timeout_s`."""
    wires = {node.wire: node for node in nodes if node.wire is not None}
    return [wires[cast(Connection, wire)] for wire in wait([w for w in wires if w is not None], timeout_s)]
