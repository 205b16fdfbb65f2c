"""The controller: values, rules, state, runtime, and what stands around them. Its public names are in `kedge`."""
