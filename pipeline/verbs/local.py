"""Runs a verb over snapshots in this process, or in several, each of which handles one snapshot after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final

from ..errors import PipelineError
from ..tables.files import Place
from .verb import Said, Told, Verb, attempt, unheard

_WORTH: Final = 32
"""The snapshots that justify another process: its start takes as long as planning a dozen of 10,000 partitions."""


def results(
    verb: Verb, places: Sequence[Place], told: Told, processes: int | None = None
) -> Iterator[tuple[Place, Said | PipelineError]]:
    """The result of each place in turn. `processes`: their number; None: one per processor, if each has enough to do.
    `told` gets the progress within a single place, or the number of finished places."""
    if len(places) == 1:
        yield places[0], attempt(verb, places[0], told)
        return
    count = _worth(len(places)) if processes is None else processes
    for done, (place, said) in enumerate(_each(verb, places, count), 1):
        yield place, said
        told(done, len(places))


def _each(verb: Verb, places: Sequence[Place], count: int) -> Iterator[tuple[Place, Said | PipelineError]]:
    work = partial(_attempt, verb)
    if count < 2:
        yield from zip(places, map(work, places), strict=True)
        return
    # Not forked: locks held by pyarrow's threads would stay locked in the child for ever.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield from zip(places, pool.map(work, places), strict=True)


def _attempt(verb: Verb, place: Place) -> Said | PipelineError:
    return attempt(verb, place, unheard)


def _worth(places: int) -> int:
    return max(1, min(len(os.sched_getaffinity(0)), places // _WORTH))
