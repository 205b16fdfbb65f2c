"""A product that is broken on purpose: what is replaced in it, and the scenario that must show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest

from kedge.controller.rig import Rig

Patch: TypeAlias = pytest.MonkeyPatch
Breaks: TypeAlias = Callable[[Patch], None]


@attrs.frozen
class Mutant:
    """`breaks`: what is wrong with it; `scenario`: where it shows; `says`: the error, as a pattern."""

    breaks: Breaks
    scenario: Callable[[Rig], None]
    says: str


def replaced(target: Any, name: Any, by: Any) -> Breaks:
    """Something in a module, a class or a table is another one."""

    def breaks(patch: Patch) -> None:
        if isinstance(target, dict):
            patch.setitem(target, name, by)
        else:
            patch.setattr(target, name, by)

    return breaks
