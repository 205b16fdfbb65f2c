"""Spark's errors in one line: those of PySpark, of Spark Connect, or of the JVM as passed on by py4j."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import EngineFailed, PipelineError


@contextmanager
def failing() -> Iterator[None]:
    """Raises EngineFailed if a job fails."""
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        raise EngineFailed(f"Spark: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The last line of an error that names one, without stack frames."""
    lines = [line.strip() for line in str(error).splitlines() if "Error: " in line or "Exception: " in line]
    return " ".join((lines or [str(error)])[-1].split())[:500]
