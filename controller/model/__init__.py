"""Values that the other rooms exchange: partitions, brokers, events, records, requests, and protocols."""
