"""The commands of `kedge journal` that show journals (`show`) and replay them (`replay`)."""
