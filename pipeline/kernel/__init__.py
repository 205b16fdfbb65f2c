"""The planning kernel: decisions on arrays of numbers, the same for every engine.

Rules
* Hard constraints come first: no replica goes to a dead or leaving broker, no second one into a rack while another rack
  has none, and no capacity is exceeded. Then as few bytes as possible, then balance.
* One total order: larger first, then topic, partition, broker. Nothing depends on randomness, clock or hashes, so the
  same arrays give the same plan.
* Each part of the request that is not met has a reason. What was not requested is not changed.
"""
