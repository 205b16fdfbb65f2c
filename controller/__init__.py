"""The controller: its values, rules, state and runtime, and the APIs on top of them. `kedge` exports the public
names."""
