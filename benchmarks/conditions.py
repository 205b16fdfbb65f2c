"""The conditions of a run, which every figure names: content, driver, host, journal.

What a benchmark cannot vary stands in FIXED, and its lines say so under `fixed`; "none": it has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

DRIVERS: Final = ("threads", "polled")
_NO_CONTROLLER: Final = {"driver": "none", "host": "none", "journal": "none"}
FIXED: Final[Mapping[str, Mapping[str, str]]] = {
    "audit": {"content": "generated", **_NO_CONTROLLER},
    "memory": _NO_CONTROLLER,
    "metrics": {"driver": "polled"},  # two clusters are driven pass by pass in turn
    "migrate": {"driver": "polled"},  # the other controller takes over within a call of the command
    "plan": {"content": "generated", **_NO_CONTROLLER},
    "planning": {"content": "generated", **_NO_CONTROLLER},
    "produce": {"content": "none", "driver": "threads", "host": "simulated brokers", "journal": "off"},
    "reads": _NO_CONTROLLER,
    "reduce": {"driver": "polled"},  # its passes are measured
    "removal": {"driver": "polled"},  # as above
    "wire": {"driver": "threads"},  # clients wait for it in processes of their own
}


@attrs.frozen
class Conditions:
    """Under which figures are taken; by default those of the headline."""

    content: str = "realistic"
    driver: str = "threads"
    host: str = "encoding"
    journal: str = "off"
    fixed: tuple[str, ...] = ()

    def of(self, name: str) -> Conditions:
        """Those of one benchmark, which may not vary in all of them."""
        return self.but(FIXED.get(name, {}))

    def but(self, fixed: Mapping[str, str]) -> Conditions:
        """With some that are as they are."""
        return attrs.evolve(self, **fixed, fixed=(*self.fixed, *fixed))

    @property
    def line(self) -> dict[str, object]:
        """What figures say of them."""
        found: dict[str, object] = attrs.asdict(self)
        if not self.fixed:
            del found["fixed"]
        return found
