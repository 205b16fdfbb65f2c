"""The migration of a cluster to another store: the code that reads and writes both. `kedge.controller.migration` is the
pure part."""

from .moving import Migration, TimedOut, Verification

__all__ = ["Migration", "TimedOut", "Verification"]
