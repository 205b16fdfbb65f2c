"""Copying a whole tree out of a store and into another: formats, batches, many concurrent commits.

The source is a store or the bytes of a file. The result is an image (a snapshot of the memory store), or a tree in
another store. Commands use this, controllers do not: its commits are not fenced, so it is for trees without a leader.

Rules
* A load overwrites nothing: every key is put as ABSENT. Values that the store cannot hold are reported before any
  write.
* Ephemeral keys are left out and counted: they belong to sessions, and a session cannot be copied.
* `formats`: file -> Tree; `batches`: ops -> commits that fit; `writing`: commits -> store; `dumping`: store -> image.
"""

from .batches import batches, check_fits
from .dumping import Dump, dump
from .formats import Tree, parse
from .writing import PATIENCE_S, BrokenOff, NotEmpty, Told, load, may_load, write_all

__all__ = [
    "PATIENCE_S",
    "BrokenOff",
    "Dump",
    "NotEmpty",
    "Told",
    "Tree",
    "batches",
    "check_fits",
    "dump",
    "load",
    "may_load",
    "parse",
    "write_all",
]
