"""`kedge serve --migrate-to URL`: the cluster goes to another store while it serves.

* It begins once all is ready. The brokers are registered in both stores, then the same migration runs as that of `kedge
  store migrate` (docs/migrating.md). At its end the controller, the brokers and the gateway go on over the other store.
* It waits until a broker is registered, in whichever process.
* What prevents the migration before its fence is printed once, and the cluster stays where it is. If `kedge store
  migrate` or another process completes the migration later, this process follows.
* What fails for a while is tried again, until the process ends: after the fence nothing leads over the first store.
* Of several processes on the store, the one whose controller is active moves it, and all that have the option follow.
* The command can be repeated after its process ended. Before the fence it copies again. After the fence it first
  completes the migration. Once the migration is complete, it starts over the other store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import attrs

from ....stores import open_store, public_url
from ....stores.base import MetadataStore, StoreError
from ...migration import MigrationRefused, Stage
from ...model.errors import ControllerError
from ...runtime.clock import Chance, SystemClock
from ...runtime.migration import Migration, TimedOut
from ...runtime.migration.reading import registered, sides_of
from ...server import LiveCluster, LiveServer
from ...wire import Gateway, Peers
from ..printing import one_line, say, without_place
from . import sharing
from .options import CannotServe, Options

BROKERS_S: Final = 600.0
_AGAIN_S: Final = 5.0
_LOOK_S: Final = 1.0


class _Ended(Exception):
    """The process ends: the migration stops where it is."""


def place(options: Options, note: Callable[[str], None]) -> Options:
    """The options with the store where the cluster is now, and without `migrate_to` if it is there already. Completes a
    migration that is fenced. CannotServe where the cluster cannot be moved."""
    if options.migrate_to is None:
        return options
    try:
        with ExitStack() as stack:
            migration = _between(options, stack, time.sleep, note)
            stage = migration.plan().stage
            if stage in {Stage.NEW, Stage.COPYING}:
                return options
            if stage in {Stage.FENCED, Stage.SEALED}:
                migration.run(BROKERS_S)
    except (MigrationRefused, StoreError, OSError, ValueError) as error:
        raise CannotServe(f"--migrate-to: {without_place(error)}") from error
    note(f"the cluster is in {public_url(options.migrate_to)}; start with --store for it from now on")
    return attrs.evolve(options, url=options.migrate_to, migrate_to=None)


def _opened(url: str, stack: ExitStack) -> MetadataStore:
    store = open_store(url)
    stack.callback(store.close)
    return store


def _between(
    options: Options, stack: ExitStack, pause: Callable[[float], None], note: Callable[[str], None]
) -> Migration:
    assert options.migrate_to is not None
    urls = (options.url, options.migrate_to)
    stores = [_opened(url, stack) for url in urls]
    names = (public_url(urls[0]), public_url(urls[1]))
    return Migration(stores[0], stores[1], names, clock=SystemClock(), chance=Chance(), pause=pause, say=note)


class Moving:
    """A thread that moves a running cluster; `close` ends it. `kept`: closes clients of the other store after the
    gateway. `note`: prints progress; `done`: gets the name of the other store in the end."""

    def __init__(
        self,
        options: Options,
        cluster: LiveCluster,
        gateway: Gateway,
        *,
        kept: ExitStack,
        note: Callable[[str], None],
        done: Callable[[str], None],
    ) -> None:
        assert options.migrate_to is not None
        self._options = options
        self._to = attrs.evolve(options, url=options.migrate_to, migrate_to=None)
        self._shown = public_url(options.migrate_to)
        self._cluster, self._gateway = cluster, gateway
        self._note, self._done, self._kept = note, done, kept
        self._ended = threading.Event()
        self._server: LiveServer | None = None
        self._sides: tuple[MetadataStore, MetadataStore] | None = None
        self._peers: Peers | None = None
        self._has_begun = self._is_refused = self._is_moved = self._is_led_there = False
        self._thread = threading.Thread(target=self._run, name="kedge-moving", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The migration stops where it is."""
        self._ended.set()
        self._thread.join()

    def _pause(self, seconds: float) -> None:
        if self._ended.wait(seconds):
            raise _Ended

    def _run(self) -> None:
        last = ""
        while True:
            try:
                self._step()
            except _Ended:
                return
            except (StoreError, ControllerError, CannotServe, OSError) as error:
                if one_line(error) != last:
                    say(f"not moved to {self._shown} yet, retrying: {one_line(error)}")
                last = one_line(error)
            else:
                last = ""
            if self._is_led_there or self._ended.wait(_AGAIN_S if last else _LOOK_S):
                return

    def _step(self) -> None:
        if not self._is_moved:
            self._cluster.register_in(self._there)
            self._has_begun |= self._cluster.controller.is_active and bool(registered(self._looked_at[0]))
            is_ours = self._has_begun and not self._is_refused
            self._is_moved = self._moves() if is_ours else self._was_moved()
        if self._is_moved:
            self._follow()

    @property
    def _there(self) -> LiveServer:
        """The other store. The cluster closes it if it runs there."""
        if self._server is None:
            self._server = server = LiveServer(lambda: open_store(self._to.url))
            self._kept.callback(lambda: None if self._cluster.server is server else server.close())
        return self._server

    @property
    def _looked_at(self) -> tuple[MetadataStore, MetadataStore]:
        """Both stores, to read them now and then."""
        if self._sides is None:
            with ExitStack() as opened:
                self._sides = (_opened(self._options.url, opened), _opened(self._to.url, opened))
                self._kept.push(opened.pop_all())
        return self._sides

    def _was_moved(self) -> bool:
        """Whether another process completed the migration."""
        try:
            return sides_of(*self._looked_at).stage in {Stage.GIVEN, Stage.DONE}
        except MigrationRefused:
            return False

    def _moves(self) -> bool:
        """The other store has everything. False: the cluster stays in the first one."""
        with ExitStack() as stack:
            migration = _between(self._options, stack, self._pause, self._note)
            try:
                strangers = migration.run(BROKERS_S)
            except (MigrationRefused, TimedOut) as error:
                say(f"not moved to {self._shown}: {one_line(error)}")
                self._is_refused = True
                return False
        for key, what in strangers:
            say(f"{key} was {what} in the former store after its fence, which was not copied")
        return True

    def _follow(self) -> None:
        """May be called again after an error; what succeeded before is not repeated."""
        if self._peers is None:
            with ExitStack() as opened:
                self._peers = sharing.peers_of(self._to, self._shown, opened)
                self._kept.push(opened.pop_all())
        assert self._peers is not None
        self._cluster.follow(self._there)
        self._gateway.follow(self._cluster.controller, self._peers)
        assert self._gateway.asking is not None
        self._cluster.asks(self._gateway.asking)
        self._done(self._shown)
        self._is_led_there = True
        self._note(f"moved to {self._shown}; start with --store for it from now on")
