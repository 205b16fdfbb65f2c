"""Throttles that remove themselves (KIP-179): set before a move begins, taken back when the last one has ended, and
what an operator had set given back."""
