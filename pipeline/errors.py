"""What the pipeline raises. One root; the message says what, where, what was expected and what was got."""

from __future__ import annotations


class PipelineError(Exception):
    """Something given cannot be used; nothing was written."""


class BadInput(PipelineError, ValueError):
    """An input is not of its kind as a whole: no JSON, a column missing, an option out of range."""


class NotFound(PipelineError, LookupError):
    """A table, a snapshot or a plan that was named is not there."""


class Refused(PipelineError):
    """A plan may not be handed over as things stand: the cluster is another than the plan was made from, somebody else
    moves something, a target is down. Nothing was handed over since it was asked."""


class Stopped(PipelineError):
    """Not everything moved. What was handed over before goes on in the cluster, and asking again goes on with it."""


class NothingAsked(BadInput):
    """What is asked for is nothing in this cluster: no broker of it is to be drained."""


class EngineFailed(PipelineError):
    """Spark did not come to the end of a job; the message is what it says of it."""
