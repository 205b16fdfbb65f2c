"""The hooks of a controller are checked when they are made, not at the first request."""

from __future__ import annotations

import attrs
import pytest

from kedge import Controller, Hooks
from kedge.stores import MemoryStore
from tests.runtime.world import Brokers


async def _coroutine(*_: object) -> bool:
    """Its coroutine would be true whatever it says."""
    return False


@pytest.mark.parametrize("wrong", ["allow", 5, True, _coroutine])
@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Hooks)])
def test_a_hook_is_a_plain_function(name: str, wrong: object) -> None:
    """TypeError, with its name: a coroutine that is never awaited would allow everything."""
    with pytest.raises(TypeError, match=name):
        Hooks(**{name: wrong})  # type: ignore[arg-type]


def test_a_controller_takes_hooks_as_one_value() -> None:
    with pytest.raises(TypeError, match="hooks must be a Hooks"):
        Controller(MemoryStore(), 1, Brokers(), hooks=lambda *_: True)  # type: ignore[arg-type]
