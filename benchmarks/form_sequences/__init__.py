"""Action sequences on a real form: time, planner's calls, and clicks on what was not meant."""
