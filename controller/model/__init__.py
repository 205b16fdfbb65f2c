"""Values only: what the floors above hand to each other."""
