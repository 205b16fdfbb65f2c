"""`kedge demo`: three acts on simulated brokers and real controllers, with a real cluster's metadata as input."""
