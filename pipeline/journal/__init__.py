"""Journals as typed rows: which files, which lines, what is quarantined. Nothing here needs a controller or a JVM."""
