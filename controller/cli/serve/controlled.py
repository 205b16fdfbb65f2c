"""Where a test orders what happens to its cluster: a pipe from `kedge.testing.Server`, which started this process.

Each message is a method of `Control` with its arguments; the answer is whether it was done, and its result or error.
Only the process that started this one has the other end, so no login is needed.
"""

from __future__ import annotations

import os
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
    with suppress(EOFError, OSError):
        while True:
            what, arguments, named = pipe.recv()
            try:
                answer = True, getattr(control, what)(*arguments, **named)
            except Exception as error:  # noqa: BLE001 - the caller raises it
                answer = False, error
            pipe.send(answer)
    os.kill(os.getpid(), signal.SIGTERM)
