"""The conditions of a run, which every figure names: content, driver, host, journal.

FIXED lists what a benchmark cannot vary; its lines name that under `fixed`. "none" means that it has nothing of the
kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

DRIVERS: Final = ("threads", "polled")
_NO_CONTROLLER: Final = {"driver": "none", "host": "none", "journal": "none"}
_SERVED: Final = {"content": "none", "driver": "threads", "host": "simulated brokers", "journal": "off"}
FIXED: Final[Mapping[str, Mapping[str, str]]] = {
    "audit": {"content": "generated", **_NO_CONTROLLER},
    "fixture": _SERVED,
    "groups": _SERVED,
    "hostile": _SERVED,
    "memory": _NO_CONTROLLER,
    "metrics": {"driver": "polled"},  # it drives two clusters in turn, pass by pass
    "migrate": _NO_CONTROLLER,
    "plan": {"content": "generated", **_NO_CONTROLLER},
    "planning": {"content": "generated", **_NO_CONTROLLER},
    "samples": {"content": "generated", **_NO_CONTROLLER},
    "produce": _SERVED,
    "reads": _NO_CONTROLLER,
    "reduce": {"driver": "polled"},  # it measures single passes
    "removal": {"driver": "polled"},  # it measures single passes
    "wire": {"driver": "threads"},  # clients in other processes wait for the answers
}


@attrs.frozen
class Conditions:
    """The conditions of one run. The defaults are those of the headline figures."""

    content: str = "realistic"
    driver: str = "threads"
    host: str = "encoding"
    journal: str = "off"
    fixed: tuple[str, ...] = ()

    def of(self, name: str) -> Conditions:
        """The same conditions, except for those that this benchmark cannot vary."""
        return self.but(FIXED.get(name, {}))

    def but(self, fixed: Mapping[str, str]) -> Conditions:
        """The same conditions with some that are fixed."""
        return attrs.evolve(self, **fixed, fixed=(*self.fixed, *fixed))

    @property
    def line(self) -> dict[str, object]:
        """The fields that each figure gets."""
        found: dict[str, object] = attrs.asdict(self)
        if not self.fixed:
            del found["fixed"]
        return found
