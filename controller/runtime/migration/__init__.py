"""A move of a cluster to another store: what reads and writes both. What is pure of it: `controller.migration`."""

from controller.runtime.migration.moving import Migration, TimedOut, Verification

__all__ = ["Migration", "TimedOut", "Verification"]
