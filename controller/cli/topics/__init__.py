"""`kedge topics`: the options of kafka-topics.sh, and those of KIP-36 and KIP-694. One file an action; besides,
`choosing` (which topics are meant), `assigning` (who holds them, where that is said here) and `shrinking` (fewer
partitions)."""

from controller.cli.topics.command import topics

__all__ = ["topics"]
