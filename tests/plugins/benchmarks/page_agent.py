"""An agent without a browser, run as a process: asks the server once a step and notes what it did.

python -m tests.plugins.benchmarks.page_agent SPECIFICATION
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

from benchmarks.small_model.recording_proxy import append_line


def main() -> None:
    """Play: the answer "right" ends the page with a reward."""
    plan = json.loads(sys.argv[1])
    trace = Path(plan["trace"])
    append_line(trace, kind="goal", text=f"Do {plan['page']} {plan['seed']}.")
    reward = 0.0
    for _ in range(plan["steps"]):
        messages = [{"role": "user", "content": plan["page"]}]
        body = {"messages": messages, "temperature": 1.5, "max_completion_tokens": 10_000}
        request = urllib.request.Request(
            f"{plan['base_url']}/chat/completions", json.dumps(body).encode()
        )
        with urllib.request.urlopen(request) as answer:
            reply = json.load(answer)["choices"][0]["message"]["content"]
        reward = float(reply == "right")
        append_line(trace, kind="step", action=reply, happened="nothing changed", failed=not reward)
        if reward:
            break
    append_line(trace, kind="end", reward=reward, ended="page over" if reward else "steps")


if __name__ == "__main__":
    main()
