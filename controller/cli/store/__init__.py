"""The commands of `kedge store`: what an operator does with a metadata store as a whole."""
