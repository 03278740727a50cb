"""The textbook loop: every step asks with the whole history, and takes one JSON action.

    python -m benchmarks.small_model.history_loop SPECIFICATION    (JSON; see `episodes.Plan`)

Needs BrowserGym and ``openai``; imports nothing of HiSA's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.small_model.page_of_task import Page
from benchmarks.small_model.recording_proxy import append_line

_SYSTEM = """You operate a web page to do a task. Each message shows the page's elements, one a \
line, with an id in brackets. Answer with one JSON object and nothing else:
{"thought": "one short sentence", "action": "click", "element": "12", "text": ""}
Actions: click (element), fill (element, text), select (element, text: the option), \
press (element, text: a key such as Enter), scroll (text: down or up), done (the task is done)."""
_ACTIONS = ("click", "fill", "select", "press", "scroll", "done")
_SCHEMA = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 300},
        "action": {"enum": list(_ACTIONS)},
        "element": {"type": "string", "maxLength": 8},
        "text": {"type": "string", "maxLength": 300},
    },
    "required": ["thought", "action", "element", "text"],
    "additionalProperties": False,
}


def call_of(reply: str) -> str:
    """Returns BrowserGym's call for a reply; raises ValueError with a reason the model can use."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        action = json.loads(reply[start : end + 1])
        name, element = str(action["action"]), str(action.get("element") or "").strip("[] ")
        text = str(action.get("text") or "")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"the answer is not the JSON object that was asked for: {error}") from None
    calls = {
        "click": f"click({element!r})",
        "fill": f"fill({element!r}, {text!r})",
        "select": f"select_option({element!r}, {text!r})",
        "press": f"press({element!r}, {text!r})",
        "scroll": f"scroll(0, {-200 if text == 'up' else 200})",
        "done": "",
    }
    if name not in calls:
        raise ValueError(f"no action {name[:40]!r}; there are: {', '.join(_ACTIONS)}")
    return calls[name]


def play(page: Page, ask: Any, plan: dict[str, Any], trace: Path) -> str:
    """Act until the page is over, the model says done or the steps are; returns why it ended."""
    messages = [{"role": "system", "content": _SYSTEM}]
    happened = "this is the first look"
    for _ in range(plan["steps"]):
        look = f"Task: {page.goal}\nLast action: {happened}\nPage:\n{page.text()}"
        messages.append({"role": "user", "content": look})
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply})
        failed = True
        try:
            if not (call := call_of(reply)):
                return "said done"
            happened, failed = page.act(call)
        except ValueError as error:
            call, happened = reply[:300], str(error)
        append_line(trace, kind="step", action=call, happened=happened, failed=failed)
        if page.over:
            return "page over"
    return "steps"


def main() -> None:
    """Play the one episode that the argument tells."""
    import openai

    plan = json.loads(sys.argv[1])
    trace = Path(plan["trace"])
    client = openai.OpenAI(base_url=plan["base_url"], api_key="x", max_retries=0, timeout=900)
    named = {"name": "action", "strict": True, "schema": _SCHEMA}
    held: Any = {"response_format": {"type": "json_schema", "json_schema": named}}

    def ask(messages: Any) -> str:
        more = held if plan["schema"] else {}
        answer = client.chat.completions.create(model=plan["model"], messages=messages, **more)
        return answer.choices[0].message.content or ""

    from browsergym.core.action.highlevel import HighLevelActionSet

    page = Page(plan["page"], plan["seed"], HighLevelActionSet(["bid"], multiaction=False))
    append_line(trace, kind="goal", text=page.goal)
    ended = play(page, ask, plan, trace)
    append_line(trace, kind="end", reward=page.reward, ended=ended)
    page.close()


if __name__ == "__main__":
    main()
