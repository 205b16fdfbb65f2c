"""The one source of chance."""

from __future__ import annotations

import base64
from uuid import UUID

from controller.runtime.clock import Chance


def test_ids_are_random_uuids_that_no_tool_takes_for_an_option() -> None:
    """One in 64 would begin with a dash."""
    chance = Chance(1)
    made = [chance.topic_id() for _ in range(1_000)]
    assert len(set(made)) == len(made)
    assert not any(one.startswith("-") for one in made)
    assert all(UUID(bytes=base64.urlsafe_b64decode(one + "==")).version == 4 for one in made)
