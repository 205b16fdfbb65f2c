"""The caches and their indexes. Records are applied and undone here; no other room changes them."""

from controller.state.batch import LEGACY, Batch, DirtyKey
from controller.state.cluster import ClusterState
from controller.state.tables import apply, apply_all, start_batch, undo_to

__all__ = ["LEGACY", "Batch", "ClusterState", "DirtyKey", "apply", "apply_all", "start_batch", "undo_to"]
