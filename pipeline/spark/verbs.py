"""Runs a verb over the snapshots of many clusters in one Spark job: a worker reads the tables of a snapshot, does what
the local engine does and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs

from ..errors import EngineFailed, PipelineError
from ..tables.files import Place
from ..verbs.verb import Said, Verb, attempt, unheard
from .calls import each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def results(spark: SparkSession, verb: Verb, places: Sequence[Place]) -> Iterator[tuple[Place, Said | PipelineError]]:
    """The result of each place, in their order, once the job is done. Raises EngineFailed if it did not complete: what
    was written stays, and repeating it writes the same."""
    given = [(attrs.evolve(place, root=place.root.absolute()),) for place in places]
    yield from zip(places, each(spark, partial(said_of, verb), given), strict=True)


def said_of(verb: Verb, place: Place) -> Said | PipelineError:
    """The result of a worker for a snapshot. No error of one harms the others."""
    try:
        return attempt(verb, place, unheard)
    except OSError as error:  # for example a full disk
        return EngineFailed(f"{error.filename}: {error.strerror}" if error.filename else str(error))
