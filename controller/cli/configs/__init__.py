"""`kedge kafka configs`: describe and alter configs of topics, brokers and loggers, as kafka-configs.sh does.

`changes` holds what options mean, `command` the actions. Changes are incremental (KIP-339), also for brokers: Kafka's
tool of 3.9 replaces all configs of a broker by those that it read before, and so undoes what was set in between.
"""

from controller.cli.configs.command import configs

__all__ = ["configs"]
