"""The planner for computer-use models: the Responses API with its computer tool."""
