"""A server as a process, and what it shares with an ensemble of several.

Rules
* The methods are the same for every store, so that a test is written once: start stop kill pause resume restart close,
  and pid running log_tail version address url. All but `start` may be called twice.
* A server outside of a `with` block runs only after `start`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

from servers.folders import RunFolder
from servers.process import START_S, ServerProcess


@dataclass(frozen=True)
class Place:
    """Where a server runs: the address on which it listens, and the prefix of its command that enters the place."""

    host: str = "127.0.0.1"
    enter: tuple[str, ...] = ()


LOOPBACK: Final = Place()


def store_url(scheme: str, addresses: Sequence[str], root: str, options: dict[str, object]) -> str:
    """The url for `open_store`. Values of options are used as they are: the caller quotes them."""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{scheme}://{','.join(addresses)}{root}" + (f"?{query}" if query else "")


class Running(abc.ABC):
    """Something to start, stop and close: one server, or several as one store."""

    scheme: ClassVar[str]

    @property
    @abc.abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """HOST:PORT of each server, for clients."""

    @abc.abstractmethod
    def start(self, timeout_s: float = START_S) -> None:
        """Start it with its former data. Returns once it answers. Raises NoServer."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Stop it in order; its data is kept."""

    @abc.abstractmethod
    def close(self) -> None:
        """End it and remove its temporary files."""

    def url(self, root: str = "", **options: object) -> str:
        return store_url(self.scheme, self.addresses, root, options)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalServer(Running):
    """A server as a process of this machine. Its data is in `folder`; `close` removes a temporary one."""

    version: str
    """As "3.9.4"."""
    address: str
    """HOST:PORT for clients."""

    def __init__(self, kind: str, folder: Path | None, place: Place, *, in_memory: bool = False) -> None:
        self._own: RunFolder | None = None
        if folder is None:
            self._own = RunFolder(kind, in_memory=in_memory)
            folder = self._own.path
        folder.mkdir(parents=True, exist_ok=True)
        self.folder: Final = folder
        self.place: Final = place
        self._process: ServerProcess

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self.address,)

    @property
    def pid(self) -> int:
        """The process id. Raises NoServer if it does not run."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives, paused or not."""
        return self._process.running

    def start(self, timeout_s: float = START_S) -> None:
        """Start it with the data in its folder. Returns once it answers. Raises NoServer."""
        self._process.start(timeout_s)

    def launch(self) -> None:
        """Start it without awaiting its answer, which a node of an ensemble gives only with a majority."""
        self._process.launch()

    def await_answer(self, timeout_s: float = START_S) -> None:
        """Return once it answers. Raises NoServer; then it does not run."""
        self._process.await_answer(timeout_s)

    def stop(self) -> None:
        """Stop it in order; its data is kept."""
        self._process.stop()

    def kill(self) -> None:
        """Kill it, as a power cut does; its data is kept."""
        self._process.kill()

    def restart(self) -> None:
        """Kill it and start it again, with its data, at the same address."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """It keeps its connections and answers nothing until `resume`; all its threads are stopped on return."""
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def close(self) -> None:
        """End it and remove a temporary folder. Idempotent."""
        if self._own is None:
            self._process.stop()
        else:
            self._process.kill()
            self._own.close()

    def log_tail(self) -> str:
        return self._process.log_tail()

    @abc.abstractmethod
    def leads(self) -> bool:
        """Whether it answers and reports itself as the leader; a single server is one."""
