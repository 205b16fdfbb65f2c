"""Mutants by machine: how many small defects in a room of the product its fast tests find. See `__main__`."""
