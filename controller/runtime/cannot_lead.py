"""The exception that ends a term."""

from __future__ import annotations


class CannotLead(Exception):
    """The term is over; this is not an error. The controller no longer leads, cannot know whether it leads, or may not
    read a key that it needs."""
