"""Kedge beside others, on the same servers in one sitting. Each harness is a module that a user can run."""
