"""The tools a planner may call: registry, built-ins, plug-ins."""
