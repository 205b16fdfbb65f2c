"""The caches and their indexes. Records are applied and undone here; no other room changes them."""

from .applying import apply, apply_all, start_batch, undo_to
from .batch import LEGACY, Batch, DirtyKey
from .cluster import ClusterState

__all__ = ["LEGACY", "Batch", "ClusterState", "DirtyKey", "apply", "apply_all", "start_batch", "undo_to"]
