"""The errors of the pipeline, with one root. The message says what, where, what was expected and what was found."""

from __future__ import annotations


class PipelineError(Exception):
    """An input cannot be used; nothing was written."""


class BadInput(PipelineError, ValueError):
    """An input is wrong as a whole: no JSON, a missing column, an option out of range."""


class NotFound(PipelineError, LookupError):
    """A named table, snapshot or plan does not exist."""


class Refused(PipelineError):
    """A plan cannot be submitted now: the cluster differs from the plan's snapshot, another tool moves partitions, or a
    target is down. Nothing was submitted by this call."""


class Stopped(PipelineError):
    """Not everything moved. Submitted reassignments continue in the cluster, and running the command again
    continues."""


class NothingAsked(BadInput):
    """The request is empty for this cluster: none of the brokers to drain is in it."""


class EngineFailed(PipelineError):
    """A Spark job failed; the message is Spark's."""
