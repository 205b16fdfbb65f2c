"""The only floor with threads, time and I/O: inbox, loop, leadership, loads, commits, sends, journal."""
