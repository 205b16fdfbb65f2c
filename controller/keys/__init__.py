"""The kinds of keys, one file each: their paths, how they are read and written, and their versions after a commit."""
