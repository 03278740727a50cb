"""One episode by AgentLab's GenericAgent, from its wheel, in a Python of its own.

    PYTHON -m benchmarks.small_model.generic_agent SPECIFICATION    (JSON; see `episodes.Plan`)

The flags are those that AgentLab publishes for its smallest model (``AGENT_8B``), with the HTML of
the page beside its tree, as AgentLab sets for MiniWoB. ``environments.sh`` makes the Python.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.small_model.page_of_task import Page
from benchmarks.small_model.recording_proxy import append_line


def _agent(plan: dict[str, Any]) -> Any:
    os.environ |= {"VLLM_API_URL": plan["base_url"], "VLLM_API_KEY": "x"}
    configs = importlib.import_module("agentlab.agents.generic_agent.agent_configs")
    chat = importlib.import_module("agentlab.llm.chat_api")
    chosen = deepcopy(configs.AGENT_8B)
    chosen.flags.obs.use_html = True
    chosen.chat_model_args = chat.SelfHostedModelArgs(
        model_name=plan["model"],
        max_total_tokens=plan["context"],
        max_input_tokens=plan["context"] - plan["reply_tokens"],
        max_new_tokens=plan["reply_tokens"],
        temperature=0,
        backend="vllm",
        n_retry_server=1,
    )
    return chosen.make_agent()


def main() -> None:
    """Play the one episode that the argument tells."""
    plan = json.loads(sys.argv[1])
    trace = Path(plan["trace"])
    agent = _agent(plan)
    agent.chat_llm.min_retry_wait_time = 0
    page = Page(plan["page"], plan["seed"], agent.action_set)
    append_line(trace, kind="goal", text=page.goal)
    ended = "steps"
    for _ in range(plan["steps"]):
        call, _ = agent.get_action(agent.obs_preprocessor(deepcopy(page.seen)))
        if call is None:  # four answers that could not be read; AgentLab's own loop ends here too
            append_line(trace, kind="step", action="", happened="no readable answer", failed=True)
            ended = "gave up"
            break
        happened, failed = page.act(call)
        append_line(trace, kind="step", action=call, happened=happened, failed=failed)
        if page.over:
            ended = "page over"
            break
    append_line(trace, kind="end", reward=page.reward, ended=ended)
    page.close()


if __name__ == "__main__":
    main()
