"""The planner for small models: a short prompt, and a reply of a few words."""
