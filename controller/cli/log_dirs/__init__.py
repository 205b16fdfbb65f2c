"""`kedge log-dirs`: what lies in which directory of which broker, as kafka-log-dirs.sh tells it."""

from controller.cli.log_dirs.command import log_dirs

__all__ = ["log_dirs"]
