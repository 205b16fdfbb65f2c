"""Journals as typed rows: their files, their lines, rejected lines. It needs no controller and no JVM."""
