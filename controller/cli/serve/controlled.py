"""Where a test orders what happens to its cluster: a pipe from `kedge.testing.Server`, which started this process.

Each message is a number, a method of `Control`, and its arguments; the answer has the same number, whether it was done,
and the result or error. Calls are made at the same time, so that one that waits does not keep others waiting. Only the
process that started this one has the other end, so no login is needed.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

from ...control import Control


def obey(pipe: int, control: Control) -> None:
    """In a thread, until the other end is closed: then the test's process is gone, and this one ends, too. `pipe`: its
    file descriptor."""
    threading.Thread(target=_obey, args=(Connection(pipe), control), name="kedge-control", daemon=True).start()


def _obey(pipe: Connection, control: Control) -> None:
    sending = threading.Lock()
    try:
        with suppress(EOFError, OSError):
            while True:
                asked = pipe.recv_bytes()
                threading.Thread(target=_answer, args=(pipe, sending, control, asked), daemon=True).start()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _answer(pipe: Connection, sending: threading.Lock, control: Control, asked: bytes) -> None:
    # The call is pickled apart, so that one that cannot be read here is still answered.
    number, call = pickle.loads(asked)  # noqa: S301 - of the process that started this one
    try:
        what, arguments, named = pickle.loads(call)  # noqa: S301 - as above
        found = pickle.dumps((number, True, getattr(control, what)(*arguments, **named)))
    except Exception as error:  # noqa: BLE001 - the caller raises it
        found = _failed(number, error)
    with sending, suppress(OSError):
        pipe.send_bytes(found)


def _failed(number: int, error: Exception) -> bytes:
    try:
        return pickle.dumps((number, False, error))
    except Exception:  # noqa: BLE001 - an error that has its own way to be made
        return pickle.dumps((number, False, RuntimeError(repr(error))))
