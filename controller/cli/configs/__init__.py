"""`kedge configs`: settings of topics, brokers and loggers of brokers, told and changed with the options and words of
kafka-configs.sh.

`command` (options), `asked` (what they mean), `changes` (settings that are given), `describe`, `alter`. Changes are
made in steps (KIP-339), also of brokers: Kafka's tool of 3.9 replaces all settings of a broker by what it read before,
and so takes away what was set in between.
"""

from controller.cli.configs.command import configs

__all__ = ["configs"]
