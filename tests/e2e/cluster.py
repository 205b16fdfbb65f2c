"""Two `kedge serve` on one store: one leads and is killed, the other has the brokers, and stands by until then.

Clients call the gateway of the one that stands by. It passes on what is for the controller while the other leads, and
answers itself from then on.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, Self

from tests.real.served import url
from tests.serve.processes import Running, running

RACKS: Final = "a,b,c"
SESSION_S: Final = 8.0  # of the one that is killed: so long there is no controller
BROKERS_SESSION_S: Final = 30.0


class TwoControllers:
    """`with TwoControllers(place) as two:` controller 102 leads, 101 stands by and has three brokers."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.other = self._begun(stack, SESSION_S, "--node-id", "102", "--broker-count", "0")
            self.here = self._begun(stack, BROKERS_SESSION_S, "--racks", RACKS)
            self._stack = stack.pop_all()
        return self

    def _begun(self, stack: ExitStack, session_s: float, *arguments: str) -> Running:
        return stack.enter_context(running("--store", url(self._place, session_s), *arguments))

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        return str(self.here.at["bootstrap"])

    def held_bytes(self, broker: int) -> int:
        return sum(each["bytes"] for each in self.here.status()["brokers"] if each["id"] == broker)
