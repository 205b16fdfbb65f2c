"""The answers of a coordinator as values."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered
from .records import NO_EPOCH, NO_ID, State, Stored


@attrs.frozen
class Identified:
    """To Initialize and End: the id and the epoch that the producer has from now on. -1 in both: unchanged."""

    error: CoordinatorError
    producer_id: int = NO_ID
    producer_epoch: int = NO_EPOCH


@attrs.frozen
class Described:
    """To Describe."""

    stored: Stored


@attrs.frozen
class Listed:
    """A row in the list of all transactional ids of a coordinator. `start_ms`: as in Stored."""

    transactional_id: str
    producer_id: int
    state: State
    start_ms: int


Answer: TypeAlias = Identified | Answered
"""An answer that may be an error alone."""
Reply: TypeAlias = Identified | Described | Answered
