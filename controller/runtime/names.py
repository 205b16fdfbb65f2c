"""Names of keys, read as `controller.codec.names` reads them: here for the rooms that had them from the runtime."""

from controller.codec.names import NO_TOPIC, broker_in, is_topic, number_in

__all__ = ["NO_TOPIC", "broker_in", "is_topic", "number_in"]
