"""How a term ends that cannot go on."""

from __future__ import annotations


class Deposed(Exception):
    """Not an error: the term is over. The controller does not lead any more, or cannot know that it does, or may not
    read what it would have to know."""
