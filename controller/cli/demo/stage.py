"""The store of the demo: in this process, or below a key of its own in a real store.

* The demo takes its root by creating the key, which must not exist and have nothing below it. So it touches no cluster,
  and two demos do not meet.
* At the end it removes everything below the root, and the key; with `keep` they stay. SIGTERM ends it as Ctrl-C does.
* `clean` removes what a demo left that was kept or killed, which it knows by the value of the key, and nothing else.
* Sessions are short, because the demo waits for the one of the controller that it kills.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Final, NoReturn

import attrs

from ....stores import open_store, public_url
from ....stores.base import ABSENT, PRESENT, Conflict, Delete, InvalidKey, MetadataStore, Put, StoreError
from ....stores.checks import check_key
from ....stores.transfer import BrokenOff, write_all
from ...model.errors import ControllerError
from ...model.plural import counted
from ...rig import InvariantBroken, NotInTime
from ...rig.served import StoreServer
from ...rig.server import RecordingServer
from ..printing import without_place
from .takeover import IN_MEMORY
from .trees import BadInput, one_line

ROOT: Final = "kedge-demo"
SESSION_S: Final = 4
_MARK: Final = b"taken by kedge demo, which removes it when it ends"
_LEFT: Final = "is taken by a demo that runs, was kept or was killed; --clean removes it, --root chooses another key"
_CALL_S: Final = 10.0
_SWEEPS_MAX: Final = 20


class Interrupted(Exception):
    """The store, or what was asked of it, failed in the middle of the demo, or of cleaning up."""


class Ended(KeyboardInterrupt):
    """SIGTERM came; else as Ctrl-C."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises Ended meanwhile, so that what was made is removed. Elsewhere than on the main thread, where no
    signal comes, nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the system's own
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one is enough: the second would end the cleaning
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@attrs.frozen
class Stage:
    """`url`: the store as it may be shown. `words`: what the demo says of it. `opened`: the url of the root with its
    options, None for a store of this process."""

    url: str
    words: str
    opened: str | None = None

    @contextmanager
    def server(self, act: str) -> Iterator[RecordingServer | None]:
        """The store of an act: a real one, or None where the rig makes its own."""
        if self.opened is None:
            yield None
            return
        with closing(StoreServer(lambda: open_store(below(str(self.opened), act)))) as server:
            yield server


@contextmanager
def staged(url: str, root: str, *, keep: bool) -> Iterator[Stage]:
    """The store that `url` names. BadInput where it cannot be used, or its root is not free; Interrupted where it
    fails later."""
    if url.startswith("memory:"):
        if url != "memory:":
            raise BadInput(f"--store: expected memory:, zookeeper:// or etcd://, got {public_url(url)}")
        yield Stage("memory:", IN_MEMORY)
        return
    shown = f"{public_url(url).rstrip('/')}/{root}"
    store = _open(url, root)
    try:
        _take(store, f"/{root}", shown)
        try:
            yield _real(url, root, shown, store.session_timeout_s)
        except (StoreError, ControllerError, NotInTime, InvariantBroken) as error:
            raise Interrupted(f"{shown}: broke off: {one_line(error)}") from error
        finally:
            if not keep:
                _remove(store, f"/{root}", shown)
    finally:
        store.close()


def clean(url: str, root: str) -> str:
    """What a demo left below its root is gone. Returns what can be said of it. BadInput where nothing is changed: the
    root holds something else, or a demo runs there; Interrupted where it fails on the way."""
    if url.startswith("memory:"):
        raise BadInput("--clean needs --store, because a demo with memory: leaves nothing")
    shown = f"{public_url(url).rstrip('/')}/{root}"
    with closing(_open(url, root)) as store:
        try:
            mark, found = (
                store.get(f"/{root}", sync=True, timeout_s=_CALL_S),
                store.snapshot(f"/{root}", timeout_s=_CALL_S),
            )
        except StoreError as error:
            raise BadInput(f"{shown} cannot be used: {one_line(error)}") from None
        if mark is None and not found.entries:
            return f"{shown}: nothing to remove"
        if mark is None or mark.value != _MARK:
            raise BadInput(f"{shown}: not a root of a demo; nothing was removed")
        if any(entry.owner is not None for entry in found.entries):
            raise BadInput(
                f"{shown}: sessions hold keys there; a demo runs, or was killed a few seconds ago: try again"
            )
        _remove(store, f"/{root}", shown)
    return f"{shown}: removed {counted(len(found.entries), 'key')}"


def below(url: str, path: str) -> str:
    """The url of a root below that of `url`, with its options, and short sessions unless they say otherwise."""
    place, _, options = url.partition("?")
    if "session_timeout=" not in options:
        options = "&".join(filter(None, (options, f"session_timeout={SESSION_S}")))
    return f"{place.rstrip('/')}/{path}?{options}"


def _real(url: str, root: str, shown: str, session_s: float) -> Stage:
    sessions = f"sessions are real, and end {session_s:g} s after a death"
    words = f"Store: {shown}; {sessions}. Brokers and their clock are simulated."
    return Stage(shown, words, below(url, root))


def _open(url: str, root: str) -> MetadataStore:
    try:
        check_key(f"/{root}")
    except InvalidKey as error:
        raise BadInput(f"--root: {error}") from None
    if "/" in root:
        raise BadInput(
            f"--root: expected a name without slashes, got {root}"
        )  # what stands above it could not be removed
    place, _, options = below(url, "").partition("?")
    try:
        return open_store(f"{place.rstrip('/')}?{options}")
    except (StoreError, ValueError, OSError) as error:
        shown = public_url(url)
        raise BadInput(f"{shown} cannot be used: {without_place(error)}") from None


def _take(store: MetadataStore, root: str, shown: str) -> None:
    try:
        mark = store.get(root, sync=True, timeout_s=_CALL_S)
        if mark is not None and mark.value == _MARK:
            raise BadInput(f"{shown} {_LEFT}")
        if store.snapshot(root, timeout_s=_CALL_S).entries:
            raise BadInput(f"{shown}: not empty; nothing was changed; --root chooses another key")
        store.commit([Put(root, _MARK, ABSENT)], timeout_s=_CALL_S)
    except Conflict:
        raise BadInput(f"{shown} {_LEFT}") from None
    except StoreError as error:
        raise BadInput(f"{shown} cannot be used: {one_line(error)}") from None


def _remove(store: MetadataStore, root: str, shown: str) -> None:
    """Deepest first, so that nothing is left that keys stand below."""
    try:
        for _ in range(_SWEEPS_MAX):
            found = [entry.key for entry in store.snapshot(root, timeout_s=_CALL_S).entries]
            if not found:
                break
            found.sort(key=lambda key: -key.count("/"))
            try:
                write_all(store, [Delete(key, PRESENT) for key in found], in_flight=1)
            except BrokenOff as error:
                if not isinstance(error.__cause__, Conflict):  # else a session ended meanwhile, and took its keys
                    raise
        store.commit([Delete(root, PRESENT)], timeout_s=_CALL_S)
    except StoreError as error:
        raise Interrupted(f"{shown}: not all keys of the demo were removed: {one_line(error)}") from error
