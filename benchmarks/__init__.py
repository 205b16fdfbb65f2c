"""Figures of the controller; `benchmarks/run NAME` prints them. Compared as ratios within one run, never asserted."""
