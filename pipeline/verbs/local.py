"""A verb over snapshots in this process, or in several, each of which does one snapshot after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final

from pipeline.errors import PipelineError
from pipeline.tables.files import Place
from pipeline.verbs.verb import Said, Told, Verb, attempt, unheard

_WORTH: Final = 32
"""Snapshots that a process has to do: it takes as long to start as to plan a dozen of 10,000 partitions."""


def results(
    verb: Verb, places: Sequence[Place], told: Told, processes: int | None = None
) -> Iterator[tuple[Place, Said | PipelineError]]:
    """Of each place in turn. `processes`: how many work; None: one per processor, where each has enough to do. Of one
    place `told` hears what is done of it, of several how many are done."""
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
    # Not forked: what pyarrow's threads hold would be held in the child for ever.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield from zip(places, pool.map(work, places), strict=True)


def _attempt(verb: Verb, place: Place) -> Said | PipelineError:
    return attempt(verb, place, unheard)


def _worth(places: int) -> int:
    return max(1, min(len(os.sched_getaffinity(0)), places // _WORTH))
