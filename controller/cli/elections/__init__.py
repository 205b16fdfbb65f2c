"""`kedge leader-election`: leaders are elected, the preferred ones or unclean ones, with the options and words of
kafka-leader-election.sh."""

from controller.cli.elections.command import leader_election

__all__ = ["leader_election"]
