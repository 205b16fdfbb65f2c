"""The runtime, the only room with threads, time and I/O: inbox, loop, leadership, loads, commits, sends, journal."""
