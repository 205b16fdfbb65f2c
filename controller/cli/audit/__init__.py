"""`kedge audit`: whether a journal shows that every rule was kept."""

from controller.cli.audit.command import audit

__all__ = ["audit"]
