"""`kedge kafka topics`: the options of kafka-topics.sh, and those of KIP-36 and KIP-694.

`command` checks the options, `describing` prints, `changing` creates, alters and deletes.
"""

from controller.cli.topics.command import topics

__all__ = ["topics"]
