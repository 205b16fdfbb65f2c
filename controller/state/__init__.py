"""The caches and their indexes. Records are applied and undone here; no other room changes them."""

from .applying import apply as apply
from .applying import apply_all as apply_all
from .applying import start_batch as start_batch
from .applying import undo_to as undo_to
from .batch import LEGACY as LEGACY
from .batch import Batch as Batch
from .batch import DirtyKey as DirtyKey
from .cluster import ClusterState as ClusterState
