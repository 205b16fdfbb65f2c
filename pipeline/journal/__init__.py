"""Journals as typed rows: their files, their lines, the quarantine. It needs no controller and no JVM."""
