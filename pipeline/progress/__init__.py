"""Progress of reassignments from a journal: how far each is, which are stuck and why, the load of brokers, the
remaining time. `progress(files)` runs in this process; `kedge.pipeline.spark.journals` runs the same functions on
Spark."""

from .local import progress
from .samples import BadSamples, Samples, read_samples
from .values import Move, Progress, Stuck
from .waves import wave_times

__all__ = [
    "BadSamples",
    "Move",
    "Progress",
    "Samples",
    "Stuck",
    "progress",
    "read_samples",
    "wave_times",
]
