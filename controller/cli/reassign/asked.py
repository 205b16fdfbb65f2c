"""What an operator asked for, as one value for all actions."""

from __future__ import annotations

import attrs

from controller.cli.reassign.generate import Wanted
from controller.cli.reassign.plan import Plan


@attrs.frozen
class Asked:
    """`wanted` of --generate, `plan` of what takes a plan; rates in bytes/s."""

    wanted: Wanted | None = None
    plan: Plan | None = None
    throttle: int | None = None
    dirs_throttle: int | None = None
    timeout_ms: int | None = None
    preserve_throttles: bool = False
    watch: bool = False
    as_text: bool = False
    as_json: bool = False

    @property
    def the_plan(self) -> Plan:
        """Of an action that needs one."""
        assert self.plan is not None
        return self.plan

    @property
    def the_wanted(self) -> Wanted:
        """Of --generate."""
        assert self.wanted is not None
        return self.wanted
