"""A whole tree out of a store and into another one: formats, batches, many commits in flight.

What goes in: a store, or the bytes of a file. What comes out: an image (the memory store's snapshot), or a tree that
stands in another store. Below the commands and of no use to a controller: what is written here is not fenced, so it is
for trees that nobody leads (yet).

Rules
* A load overwrites nothing: every key is put as ABSENT. What does not fit the store is said before anything is written.
* Ephemeral keys are left out and counted: they are their sessions', and a session cannot be copied.
* `formats`: file -> Tree; `batches`: ops -> commits that fit; `writing`: commits -> store; `dumping`: store -> image.
"""

from stores.transfer.batches import batches, check_fits
from stores.transfer.dumping import Dump, dump
from stores.transfer.formats import Tree, parse
from stores.transfer.writing import BrokenOff, NotEmpty, Told, load, may_load, write_all

__all__ = [
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
