"""`kedge controller`: the controller of Kafka brokers.

command    the options, and what is printed at the start and at the end
findings   what is wrong, printed on stderr
running    what runs: store, controller, gateway, metrics; and its end
"""

from controller.cli.controller.command import controller

__all__ = ["controller"]
