"""The global planner: prompt from the bounded state, reply schema, format correction."""
