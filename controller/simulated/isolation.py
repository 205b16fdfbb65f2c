"""What happens when the work for one replica raises.

In a rig the exception ends the run, so that a test sees it. Live brokers have real clients: they log the exception, and
continue with the other replicas.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Literal, TypeAlias
from weakref import WeakSet

import attrs

from .replica import Replica

log = logging.getLogger(__name__)

Isolation: TypeAlias = Callable[[Replica], AbstractContextManager[None, bool]]
"""Makes the context manager that is held during the work for one replica."""


class _Raising:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> Literal[False]:
        return False


_RAISING: Final = _Raising()


def raising(_: Replica) -> AbstractContextManager[None, bool]:
    """No isolation: an exception propagates to the caller."""
    return _RAISING


@attrs.define(eq=False, weakref_slot=False)
class Isolated:
    """`with Isolated(failed, replica):` an exception ends the block only. It is logged unless `failed` has the replica,
    which is added: so work that is retried at each step is logged once."""

    failed: WeakSet[Replica]
    replica: Replica

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        replica = self.replica
        if replica not in self.failed:
            self.failed.add(replica)
            log.error(
                "broker %d: the replica of %s-%d failed; it is retried, and the other replicas continue",
                replica.broker,
                replica.topic,
                replica.partition,
                exc_info=error,
            )
        return True
