"""Requests to the offline model, written by hand in the form that HiSA's prompts have."""

from __future__ import annotations

import json
from typing import Any

from hisa.plugins.offline.role_answers import Turn, answer

PLANNER = "# Global planner\n\nYou operate a computer."


def sections(**bodies: str) -> str:
    """Tagged sections in the order given; empty ones are left out."""
    return "\n".join(f"<{tag}>\n{body}\n</{tag}>" for tag, body in bodies.items() if body)


def plan_reply(task: str, **bodies: str) -> dict[str, Any]:
    """The planner's reply, decoded."""
    user = sections(task=task, **bodies)
    reply: dict[str, Any] = json.loads(answer((Turn("system", PLANNER), Turn("user", user))))
    return reply


def answer_job(job: str, **bodies: str) -> str:
    """The answer to a state job."""
    return answer((Turn("system", f"{job}\n\nDo it."), Turn("user", sections(**bodies))))


def line(number: int, reply: dict[str, Any], result: str = "Succeeded.") -> str:
    """A reply as the line that the history holds of it."""
    fields = [f"Step {number}: {reply['tool']}", f"Thought: {reply['thought']}"]
    if reply.get("description"):
        fields.append(f"Description: {reply['description']}")
    return " | ".join([*fields, f"Input: {reply['input']}", f"Result: {result}"])
