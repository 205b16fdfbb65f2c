"""Calls into the process of a cluster for tests: as many at the same time as there are threads that make them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any


class Pipe:
    """`connection`: to `kedge.controller.cli.serve.controlled`. `why`: why the process has ended, once it has."""

    def __init__(self, connection: Connection, why: Callable[[], str]) -> None:
        self._connection, self._why = connection, why
        self._lock = threading.Lock()
        self._asked: dict[int, Future[Any]] = {}
        self._count = 0
        self._is_over = False
        threading.Thread(target=self._read, name="kedge-testing", daemon=True).start()

    def call(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The result of a method of `Control`, or its error. Raises RuntimeError if the process has ended."""
        call, answered = pickle.dumps((what, arguments, named)), Future[Any]()
        with self._lock:
            if self._is_over:
                raise RuntimeError(self._why())
            self._count += 1
            number = self._count
            self._asked[number] = answered
            with suppress(OSError):  # then the reading thread ends it
                self._connection.send_bytes(pickle.dumps((number, call)))
        return answered.result()

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                number, is_done, found = pickle.loads(self._connection.recv_bytes())  # noqa: S301 - of our own process
                with self._lock:
                    answered = self._asked.pop(number)
                (answered.set_result if is_done else answered.set_exception)(found)
        with self._lock:
            self._is_over = True
            left, self._asked = self._asked, {}
        for answered in left.values():
            answered.set_exception(RuntimeError(self._why()))
