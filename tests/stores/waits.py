"""Waits of the tests of stores. None of them measures: a machine that is busy may take as long as the deadline is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

WAIT_S: Final = 30.0


def raised_by(call: Callable[[], object]) -> BaseException | None:
    """What the call raised, which must end by itself: a server that is not let go on before cannot have ended it."""
    future: Future[object] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="raised-by").start()
    return future.exception(WAIT_S)
