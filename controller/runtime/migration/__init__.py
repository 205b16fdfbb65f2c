"""The migration of a cluster to another store: the code that reads and writes both. `controller.migration` is the pure
part."""

from controller.runtime.migration.moving import Migration, TimedOut, Verification

__all__ = ["Migration", "TimedOut", "Verification"]
