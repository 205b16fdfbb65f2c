"""A server as a child process: started, awaited, signalled, and ended in any case.

Rules
* Every wait has a deadline, and the error about a server that does not start has the end of its log.
* A paused server is resumed before it is ended: a stopped process reacts to no signal but KILL.
* Every process started here is ended, at the latest by the exit of the interpreter. Not by Linux's parent death signal:
  that comes at the end of the *thread* that started the process.
* The file `process` beside the log has the process id and the start time: a later reader (see folders.py) ends that
  process and no other with a reused id.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

START_S: Final = 60.0
PROCESS_FILE: Final = "process"
_STOP_S: Final = 10.0
_LOG_BYTES: Final = 4000
_POLL_S: Final = 0.02
_SAID: Final = 300
_PORT_MIN: Final = 10_000
_PORT_TRIES: Final = 100
_PORT_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


class NoServer(RuntimeError):
    """A server is not available on this machine, or did not start; the message names what is missing."""


def free_port() -> int:
    """A TCP port of the loopback interface on which nothing listens now."""
    return free_ports(1)[0]


def free_ports(count: int) -> tuple[int, ...]:
    """`count` consecutive free ports. They are below the range for outgoing connections, so that no connection takes
    one."""
    for _ in range(_PORT_TRIES):
        # not by `random`, which tests seed: two runs would choose the same
        first = _PORT_MIN + secrets.randbelow(_connecting_from() - count - _PORT_MIN)
        wanted = tuple(range(first, first + count))
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in wanted:
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return wanted
    raise NoServer(f"no {count} TCP ports in a row are free between {_PORT_MIN} and {_connecting_from()}")


def _connecting_from() -> int:
    """The lowest port of outgoing connections."""
    try:
        return max(int(_PORT_RANGE.read_text().split()[0]), 2 * _PORT_MIN)
    except (OSError, ValueError, IndexError):
        return 32768  # Linux's default


def wait_until(what: str, holds: Callable[[], bool], timeout_s: float, why: Callable[[], str] = str) -> None:
    """Return once `holds()`. Raises NoServer at the deadline, with `what` and `why()`."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() >= deadline_s:
            raise NoServer(f"not within {timeout_s:g} s: {what}\n{why()}".rstrip())
        time.sleep(_POLL_S)


def birth(pid: int) -> int:
    """The start time of the process, in ticks since boot; 0 if it does not live (or without /proc)."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return 0 if fields[0] == "Z" else int(fields[19])
    return 0


def recorded(folder: Path) -> int | None:
    """The process in the folder's `process` file, if it still lives."""
    with contextlib.suppress(OSError, ValueError):
        pid, began = map(int, (folder / PROCESS_FILE).read_text().split())
        return pid if began and birth(pid) == began else None
    return None


def end(pid: int) -> None:
    """Kill a process, a child or not, and wait for a while until it is gone."""
    began = birth(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(NoServer):
        wait_until(f"process {pid} ends", lambda: birth(pid) != began or not began, _STOP_S)


def tool(command: Sequence[str], what: str, timeout_s: float) -> str:
    """The output of a command that ends by itself. Raises NoServer with `what` and the output of the failed command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)  # noqa: S603 - ours
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoServer(f"{what}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-_SAID:]
        raise NoServer(f"{what}: `{' '.join(command)[:_SAID]}` failed: {said!r}")
    return done.stdout


class ServerProcess:
    """One server. `command` runs it in the foreground; `ready` returns whether it answers. Its output is appended to
    `log`.

    Not thread-safe: it belongs to one test, or to one shell.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        ready: Callable[[], bool],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name: Final = name
        self._command: Final = tuple(command)
        self._ready = ready
        self._log: Final = log
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether the process lives, paused or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id. Raises NoServer if it does not run."""
        if self._process is None:
            raise NoServer(f"{self.name} does not run")
        if (code := self._process.poll()) is not None:
            raise NoServer(f"{self.name} ended by itself with exit code {code}; the end of its log:\n{self.log_tail()}")
        return self._process.pid

    def start(self, timeout_s: float = START_S) -> None:
        """Start it. Returns once it answers. Raises NoServer; then it does not run."""
        if not self.running:
            self.launch()
            self.await_answer(timeout_s)

    def launch(self) -> None:
        """Start it, if it does not run, without awaiting its answer. Raises NoServer."""
        if self.running:
            return
        atexit.register(self.kill)
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    start_new_session=True,  # an interrupt at the terminal must not reach the servers
                )
        except OSError as error:
            raise NoServer(f"{self.name} cannot be run: {error}") from error
        pid = self._process.pid
        self._log.with_name(PROCESS_FILE).write_text(f"{pid} {birth(pid)}\n", encoding="utf-8")

    def await_answer(self, timeout_s: float = START_S) -> None:
        """Return once it answers. Raises NoServer; then it does not run."""
        try:
            wait_until(f"{self.name} answers", self._answers, timeout_s, self.log_tail)
        except NoServer:
            self.kill()
            raise

    def _answers(self) -> bool:
        if not self.running:
            raise NoServer(f"{self.name} ended by itself; the end of its log:\n{self.log_tail()}")
        return self._ready()

    def stop(self) -> None:
        """Stop it in order. Idempotent."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, as a power cut does. Idempotent."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It keeps its connections and answers nothing until `resume`; all its threads are stopped on return. Before
        that, which takes a moment on a busy machine, it may answer one more request."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        look = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        wait_until(f"{self.name} is paused", lambda: os.waitid(os.P_PID, pid, look) is not None, _STOP_S)

    def resume(self) -> None:
        """It continues. No effect if it is not paused, or does not run."""
        if self.running:
            os.kill(self.pid, signal.SIGCONT)

    def log_tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_bytes()[-_LOG_BYTES:].decode(errors="replace")
        return ""

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_STOP_S)
        self._process = None
        self._log.with_name(PROCESS_FILE).unlink(missing_ok=True)
        atexit.unregister(self.kill)
