"""Transcripts of a controller over a store: commands, and below each the indented lines that it left.

A command is one thing that a client, a broker, another program or the time does; then the controllers do all that they
can (not behind a ` &`). Below it stand, in this order, the answers, the errors of the store that commits met, each key
that holds something else now (`printed`), the findings that came and went, and what was logged as a warning. What
another program writes is no news, unless the controller changes it again. Comments (#) and blank lines stay.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final

from kedge import Journal, MemorySink, Settings
from kedge.stores import MemoryStore
from tests.kit.transcripts import played
from tests.rules.planting import Line, ids, read_line
from tests.runtime.hosts import HeldCalls, Noticing
from tests.runtime.printed import BY_ITSELF, answer, changes, in_short, name_of_path
from tests.runtime.world import Brokers, Cluster, Counting

NUMBERS: Final = ("commit_ops_max", "commit_bytes_max", "value_bytes_max", "session_timeout_s")
"""Options of a cluster that are those of its store."""


class Warnings(logging.Handler):
    """What was logged since the last look."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class Script:
    """One cluster at a time, and the commands of time and of controllers. Brokers, programs and clients are in the
    classes below this one. `text`: the command as it is written."""

    cluster: Cluster
    text: str

    def __init__(self) -> None:
        self.warnings = Warnings()
        self._begin()

    def _begin(self) -> None:
        self.pending: list[tuple[str, Future[Any]]] = []
        self.stood: dict[str, bytes] = {}
        self.found: dict[str, str] = {}
        self.errors: Counter[str] = Counter()
        self.sink = MemorySink()

    def play(self, text: str) -> str:
        """The transcript with its commands, and what they leave now."""
        log = logging.getLogger("kedge")
        log.addHandler(self.warnings)
        try:
            return played(text, self._command)
        finally:
            log.removeHandler(self.warnings)

    def _command(self, text: str) -> Iterator[str]:
        self.text = text.removesuffix(" &")
        verb, line = read_line(self.text)
        method: Callable[[Line], list[str] | None] = getattr(self, f"do_{verb.replace('-', '_')}")
        shown = method(line)
        if self.cluster.controllers and self.text == text and verb != "poll":
            self.cluster.run()
        yield from shown or ()
        yield from self._news()

    # --- what a command left

    def _news(self) -> Iterator[str]:
        for name, future in [each for each in self.pending if each[1].done()]:
            yield f"-> {name} {answer(future)}".replace("  ", " ")
        self.pending = [each for each in self.pending if not each[1].done()]
        yield from (f"store: {name}" for name in (self.cluster.store.errors - self.errors).elements())
        self.errors = Counter(self.cluster.store.errors)
        if isinstance(self.cluster.host, Noticing):
            yield from (f"notice {notice}" for notice in self.cluster.host.notices)
            self.cluster.host.notices.clear()
        stood, self.stood = self.stood, self._keys()
        yield from changes(stood, self.stood)
        yield from self._new_findings()
        yield from (f"warning: {in_short(message)}" for message in self.warnings.messages)
        self.warnings.messages.clear()

    def _new_findings(self) -> Iterator[str]:
        before, self.found = self.found, dict(self.cluster.findings()) if self.cluster.controllers else {}
        for name, text in self.found.items():
            if before.get(name) != text:
                yield f"finding {name_of_path(name)}: {in_short(text)}"
        yield from (f"no finding {name_of_path(name)}" for name in before if name not in self.found)

    def _keys(self) -> dict[str, bytes]:
        return {path: value for path, value in self.cluster.keys().items() if not path.startswith(BY_ITSELF)}

    def stands(self) -> None:
        """What the store holds now is no news."""
        self.stood = self._keys()

    # --- the cluster

    def do_cluster(self, line: Line) -> None:
        """`cluster t=1,2,3 u=1,2/2,3`: brokers 1 to 6, and topics by their assignments. Settings and limits of the
        store by their names; `brokers=1,2`; `down`: no controller yet; `notices`: the host hears of configs; `held`:
        its calls return when they are let go."""
        options: dict[str, Any] = {name: int(line.options[name]) for name in NUMBERS if name in line.options}
        options |= {"versioning": "per_key"} if "per_key" in line.words else {}
        self._begin()
        self.held = HeldCalls()
        executor = {"executor": self.held} if "held" in line.words else {}
        self.cluster = Cluster(start=False, options=options, settings=settings(line), **executor)
        self.cluster.host = Noticing() if "notices" in line.words else Brokers()
        self.cluster.join(*ids(line.options.get("brokers", "1,2,3,4,5,6")))
        if "down" not in line.words:
            self._another(1)
            self.cluster.run()
        for name, assignments in line.options.items():
            if "_" not in name and name != "brokers":
                self.cluster.create(name, *map(ids, assignments.split("/")))
        self.held.drain(self.cluster.run)
        self.stands()
        self._forget()

    def _forget(self) -> None:
        """Nothing that was sent, written or logged is news."""
        self.cluster.host.told.clear()
        self.cluster.store.forget_calls()
        self.warnings.messages.clear()
        self.sink.lines.clear()
        if isinstance(self.cluster.host, Noticing):
            self.cluster.host.notices.clear()

    def _another(self, node_id: int, **more: Any) -> None:
        cluster = self.cluster
        cluster.store = Counting(MemoryStore(cluster.server), sleep=lambda s: cluster.clock.advance(s * 1000))
        self.errors = Counter()
        cluster.another(node_id, cluster.store, journal=Journal(self.sink), **more)

    def do_close(self, _: Line) -> None:
        """Every controller ends as it should."""
        while self.cluster.controllers:
            self.cluster.controllers.pop().close()

    def do_crash(self, _: Line) -> None:
        """The controller is gone without a word, and its session with it."""
        self.cluster.controllers.clear()
        self.cluster.server.expire(self.cluster.store.session.session_id)

    def do_expire(self, _: Line) -> None:
        """The session of the controller ends, and it hears of it."""
        self.cluster.store.expire()

    def do_successor(self, line: Line) -> None:
        """Another controller takes over from all that there are, with these settings."""
        self.do_close(line)
        self._another(2, **({"settings": settings(line)} if line.options else {}))

    def do_wait(self, line: Line) -> None:
        """`wait MS`, in steps of so many."""
        self.cluster.wait(int(line.words[0]), int(line.options.get("step", 50)))

    def do_later(self, line: Line) -> None:
        """The time alone goes on."""
        self.cluster.clock.advance(int(line.words[0]))

    def do_poll(self, line: Line) -> None:
        """So many passes of the controller."""
        for _ in range(int(line.words[0])):
            self.cluster.controller.poll_once()

    def do_passes(self, line: Line) -> list[str]:
        """How many of so many passes had anything to do."""
        return [f"{sum(self.cluster.controller.poll_once() for _ in range(int(line.words[0])))} did something"]


def settings(line: Line) -> Settings:
    """The options that are settings: those whose names have an underscore."""
    found: dict[str, Any] = {}
    for name, value in line.options.items():
        if "_" in name and name not in NUMBERS:
            found[name] = value == "true" if value in {"true", "false"} else int(value)
    return Settings(**found)
