"""What only verifies Kedge itself: seeded runs with faults, and every reachable state of a small world."""
