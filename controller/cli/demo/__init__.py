"""`kedge demo`: five acts with real controllers, simulated brokers, and the metadata of a recorded Kafka cluster."""
