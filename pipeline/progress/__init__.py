"""Progress of moves by the journal: how far each is, what is stuck and why, who had how much to do, how long the rest
takes. `progress(files)` in this process; `pipeline.spark.progress` on Spark, with the same functions."""

from pipeline.progress.local import progress
from pipeline.progress.samples import BadSamples, Samples, read_samples
from pipeline.progress.values import Move, Progress, Stuck

__all__ = ["BadSamples", "Move", "Progress", "Samples", "Stuck", "progress", "read_samples"]
