"""The kinds of keys, one file each: what they are called, what is written for them, and where they stand afterwards."""
