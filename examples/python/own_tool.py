"""A tool of your own: a function whose types and docstring the planner reads."""

import hisa
from hisa.testing import FakeEnvironment, ScriptedModel, tool_call


def lookup_price(article: str) -> str:
    """Look up what an article costs in the shop."""
    return {"lamp": "19.90"}.get(article, "not in the list")


plans = ScriptedModel([tool_call("lookup_price", "lamp"), tool_call("termination", "It is 19.90.")])
form = FakeEnvironment()
agent = hisa.Agent(plans, tools=[lookup_price], environment=form, state="raw", memory="off")
result = agent.run_sync("What does the lamp cost?")
print(result.status, result.message)
