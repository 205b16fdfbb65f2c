"""The collector of a process that has several controllers."""

from __future__ import annotations

import gc
from contextlib import ExitStack

from controller.runtime.collector import collector_off


def test_it_rests_until_the_last_is_through() -> None:
    """Whoever ends first leaves it off for the others."""
    assert gc.isenabled()
    first, second = ExitStack(), ExitStack()
    first.enter_context(collector_off())
    second.enter_context(collector_off())
    first.close()
    assert not gc.isenabled()
    second.close()
    assert gc.isenabled()


def test_who_has_switched_it_off_keeps_it_off() -> None:
    """It is as it was before."""
    gc.disable()
    try:
        with collector_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
