"""`kedge progress`: how far moves are by the journal, and what is stuck."""

from controller.cli.progress.command import progress

__all__ = ["progress"]
