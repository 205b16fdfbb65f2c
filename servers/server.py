"""What every server of this room can do, whether it is a process here or a container.

Rules
* The verbs are the same everywhere, so that a test is written once: start stop kill pause resume restart close, and
  pid running log_tail version address url. All of them but `start` may be called twice.
* A server that is not in the `with` of anybody runs only after `start`.
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
    """Where a server runs: the address on which it listens, and the command that brings its own command there."""

    host: str = "127.0.0.1"
    enter: tuple[str, ...] = ()


LOOPBACK: Final = Place()


def store_url(scheme: str, addresses: Sequence[str], root: str, options: dict[str, object]) -> str:
    """The url for `open_store`. Values of options are taken as they are: what needs quoting is quoted by the caller."""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{scheme}://{','.join(addresses)}{root}" + (f"?{query}" if query else "")


class Running(abc.ABC):
    """What is started, stopped and closed: one server, or several that are one store."""

    scheme: ClassVar[str]

    @property
    @abc.abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """HOST:PORT of each server, for clients."""

    @abc.abstractmethod
    def start(self, timeout_s: float = START_S) -> None:
        """Run it, with the data that it had, until it answers. Raises NoServer."""

    @abc.abstractmethod
    def stop(self) -> None:
        """End it in order; its data stay."""

    @abc.abstractmethod
    def close(self) -> None:
        """End it; what was made for it alone is gone."""

    def url(self, root: str = "", **options: object) -> str:
        """The url for `open_store`."""
        return store_url(self.scheme, self.addresses, root, options)

    def __enter__(self) -> Self:
        """Started."""
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Closed."""
        self.close()


class Server(Running):
    """One server."""

    version: str
    """As "3.9.4"."""
    address: str
    """HOST:PORT for clients."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The one."""
        return (self.address,)

    @property
    @abc.abstractmethod
    def pid(self) -> int:
        """The number of its process. Raises NoServer if it does not run."""

    @property
    @abc.abstractmethod
    def running(self) -> bool:
        """Whether its process lives, paused or not."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End it as a power cut does; its data stay."""

    @abc.abstractmethod
    def pause(self) -> None:
        """It keeps its connections and answers nothing, until `resume`."""

    @abc.abstractmethod
    def resume(self) -> None:
        """It goes on. No harm if it was not paused."""

    @abc.abstractmethod
    def log_tail(self) -> str:
        """The end of what it printed."""

    def restart(self) -> None:
        """Kill it and start it again, its data kept, at the same address."""
        self.kill()
        self.start()


class LocalServer(Server):
    """A server that is a process of this machine. Its data are in `folder`; one made for it goes with `close`."""

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
    def pid(self) -> int:
        """The number of its process. Raises NoServer if it does not run."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives, paused or not."""
        return self._process.running

    def start(self, timeout_s: float = START_S) -> None:
        """Run it, with what its folder holds, until it answers. Raises NoServer."""
        self._process.start(timeout_s)

    def launch(self) -> None:
        """Run it without waiting for its answer, which one of several does not give before there are more of them."""
        self._process.launch()

    def await_answer(self, timeout_s: float = START_S) -> None:
        """Return once it answers. Raises NoServer; then it does not run."""
        self._process.await_answer(timeout_s)

    def stop(self) -> None:
        """End it in order; its data stay."""
        self._process.stop()

    def kill(self) -> None:
        """End it as a power cut does; its data stay."""
        self._process.kill()

    def leave(self) -> None:
        """Let it run on when this process ends. For a folder of the caller's: any other is removed then."""
        assert self._own is None, "a server whose folder goes at the end cannot be left running"
        self._process.leave()

    def pause(self) -> None:
        """It keeps its connections and answers nothing, until `resume`; all its threads stand still on return."""
        self._process.pause()

    def resume(self) -> None:
        """It goes on."""
        self._process.resume()

    def close(self) -> None:
        """End it; a folder that was made for it goes with it. Idempotent."""
        if self._own is None:
            self._process.stop()
        else:
            self._process.kill()
            self._own.close()

    def log_tail(self) -> str:
        """The end of what it printed."""
        return self._process.log_tail()

    @abc.abstractmethod
    def leads(self) -> bool:
        """Whether it answers, and says that it is the leader; one that stands alone is."""
