"""The commands of `kedge plan`: snapshots of clusters into plans for reassignments, and those into waves and files."""
