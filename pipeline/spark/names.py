"""The public names of `kedge.pipeline.spark` that need the extra `pipeline`."""

from ..functions import planning
from ..functions.journals import audit, progress
from ..functions.planning import *  # noqa: F403 - those of both engines
from .frames import Snapshots, collect, persist, read, write
from .verbs import results

__all__ = ["Snapshots", "audit", "collect", "persist", "progress", "read", "results", "write"]
__all__ += planning.__all__
