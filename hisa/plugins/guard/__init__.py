"""What may be done: the policy of a run, and a person who is asked before each act."""
