"""The planning kernel: decisions on arrays of numbers, for every engine alike.

Rules
* Hard constraints first: no broker that is dead or leaves takes a replica, no rack takes a second one while another has
  none, no capacity is exceeded. Then as few bytes as can be, then the balance.
* One total order: larger first, then topic, partition, broker. No chance, no clock, no hash decides anything, so the
  same arrays give the same plan.
* What was asked for and is not done has a reason. What was not asked for is not touched.
"""
