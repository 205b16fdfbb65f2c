"""Throttles that are removed automatically (KIP-179): set before a move begins, and removed when the last one has
ended, restoring what an operator had set before."""
