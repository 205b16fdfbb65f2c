"""A cluster in a process of `kedge serve`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Final

from ..controller.control import TIMEOUT_S
from ..controller.wire.security.users import salted
from .basis import RACKS, ForTests
from .pipe import Pipe

_HOME: Final = Path(__file__).resolve().parents[2]


class Server(ForTests):
    """`with Server() as server:` a process of `kedge serve` on free ports of the loopback interface.

    `brokers`, `racks`, `users`, `acls`, `tls`: as of every cluster for tests (`ForTests`). `options`: more options of
    `kedge serve`. The methods reach the process over a pipe, so they need no login. Raises RuntimeError with the line
    that the command printed, if it did not start.
    """

    def __init__(
        self,
        brokers: int = 3,
        racks: Sequence[str] = RACKS,
        *,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, Any]] | None = None,
        tls: bool = False,
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(brokers, racks, users=users, acls=acls, tls=tls)
        given = ["--racks", ",".join(racks[:brokers])] if racks else []
        self._options = ["--broker-count", str(brokers), *given, *options]

    def _begin(self, stack: ExitStack, folder: Path) -> str:
        options = [*self._options, *self._secured(folder)]
        at, self._pipe = stack.enter_context(_process(options))
        return at

    def _call(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return self._pipe.call(what, arguments, named)

    def _secured(self, folder: Path) -> Iterator[str]:
        """The options of `kedge serve` for users, rights and TLS, with their files in `folder`."""
        if self._users is not None:
            users = {name: salted(password) for name, password in self._users.items()}
            yield from ("--users", _write_private(folder / "users.json", {"users": users}))
        if self._acls is not None:
            yield from ("--acls", _write_private(folder / "acls.json", {"acls": [*self._acls]}))
        if self._certificate is not None:
            yield from ("--tls-certificate", str(self._certificate.chain), "--tls-key", str(self._certificate.key))


def _write_private(file: Path, content: Mapping[str, Any]) -> str:
    """Kedge refuses files with passwords that others may read."""
    file.touch(mode=0o600)
    file.write_text(json.dumps({"version": 1, **content}), encoding="utf-8")
    return str(file)


@contextmanager
def _process(options: Sequence[str]) -> Iterator[tuple[str, Pipe]]:
    """Runs `kedge serve`; the address for clients, and the pipe of its control."""
    path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-P", "-m", "kedge", "serve", "--json", "--listen", "127.0.0.1:0", "--no-status"]
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile("w+") as said, Connection(ours.detach()) as connection:
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, "--control", str(theirs.fileno()), *options],
                env={**os.environ, "PYTHONPATH": path},
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                pass_fds=[theirs.fileno()],
            )
        with process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError(f"`kedge serve` did not start: {_ended(process, said)}")
                pipe = Pipe(connection, lambda: f"the process of `kedge serve` has ended: {_ended(process, said)}")
                yield json.loads(line)["bootstrap"], pipe
            finally:
                process.terminate()
                try:
                    process.wait(TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def _ended(process: subprocess.Popen[str], said: IO[str]) -> str:
    """What it printed to stderr, and else its exit code."""
    code = process.wait(TIMEOUT_S)
    said.seek(0)
    return said.read().strip() or f"exit code {code}"
