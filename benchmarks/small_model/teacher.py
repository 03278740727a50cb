"""A rule that plays pages in the short form: solved runs on which a small model can be cloned.

    python -m benchmarks.small_model.teacher --port 8001
    OPTIONS="--set planner.kind=short --set planner.sees=elements --set planner.sequence=1
        --set models.planner.constrain=false --set models.planner.max_tokens=120
        --set models.planner.temperature=0 --set patterns.enabled=false
        --set state.steps=raw --set state.refine=window"
    hisa $OPTIONS --set models.planner.base_url=http://127.0.0.1:8001/v1 --set run.seed=1001 \
        bench run miniwob --task click-button --model teacher --max-steps 8 --repeat 10 --out taught
    hisa train lora taught --model gguf:coder-0.5b --most-tokens 400 --seed 1 -o cloned
    hisa $OPTIONS bench run miniwob --model gguf:coder-0.5b --max-steps 6 --out before
    hisa $OPTIONS bench run miniwob --model gguf:coder-0.5b,adapter=cloned/adapter.gguf \
        --max-steps 6 --out after
    hisa bench report after --against before

The rule opens what is collapsed, then does the first line of the prompt's list of what is to do. If
there is none that it can read, it clicks what the task names, or any control. It does not solve
every page; clone its solved runs only.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import threading
from typing import NamedTuple

from hisa.testing import FakeServer
from hisa.testing.model_server import ReceivedRequest

__all__ = ["choose_reply"]

_TYPE = re.compile(r'type (".*")(?: into element (\d+))?')
_CLICK = re.compile(r"(?:click|tick) (?:element|one of the elements) (\d+)")
_ENTRY = re.compile(r'^(\d+) ([a-z ]+?)(?: "(.*?)")?(?= [(=n]| ?$)(.*)$', re.MULTILINE)
_NTH_LINK = re.compile(r"(\d)(?:st|nd|rd|th) search result")
_PART = r"<{0}\b[^>]*>\n(.*?)\n</{0}>"


def choose_reply(message: str, draws: random.Random) -> str:
    """Returns the next step as a reply in the short form.

    Args:
        message: the user message of a prompt in the short form.
        draws: for what no rule decides.
    """
    task, to_do = _read_part(message, "task"), _read_part(message, "to_do")
    entries = _read_entries(_read_part(message, "elements"))
    for entry in entries:
        if "(collapsed)" in entry.rest:
            return _click("It is closed.", entry)
    for line in to_do.splitlines():
        words = line.removeprefix("- ")
        if typed := _TYPE.match(words):
            fields = [e for e in entries if e.kind in ("field", "spin button")]
            if field := next((e for e in fields if typed[2] in (None, e.number)), None):
                return _fill(words, field, typed[1][1:-1])
        if clicked := _CLICK.match(words):
            return _click(words, next(e for e in entries if e.number == clicked[1]))
    links = [entry for entry in entries if entry.kind == "link"]
    nth = _NTH_LINK.search(task)
    if nth and len(links) >= int(nth[1]):
        return _click("It is the result.", links[int(nth[1]) - 1])
    named = [e for e in entries if e.name and e.name in task.split() and "clicked" not in e.rest]
    controls = named or [e for e in entries if e.kind != "text" and "clicked" not in e.rest]
    if to_do.startswith("Nothing more") or not controls:
        return _write("Nothing is missing.", action="done", text="Done.")
    return _click("It may lead there.", draws.choice(controls))


class _Entry(NamedTuple):
    """A line of the list of elements."""

    number: str
    kind: str
    name: str
    rest: str


def _read_entries(listed: str) -> list[_Entry]:
    return [_Entry(*match) for match in _ENTRY.findall(listed)]


def _fill(thought: str, field: _Entry, text: str) -> str:
    if field.kind != "spin button":
        return _write(thought, action="type", element=_name(field), text=text)
    if "(focused)" not in field.rest:
        return _click(thought, field)
    count = abs(int(text)) if text.lstrip("-").isdecimal() else 1
    key = "down" if text.startswith("-") else "up"
    return _write(thought, action="press", text=key, times=count)


def _click(thought: str, entry: _Entry) -> str:
    return _write(thought, action="click", element=_name(entry))


def _read_part(message: str, name: str) -> str:
    """Returns the text between the tags of a part; empty if the part is missing."""
    match = re.search(_PART.format(name), message, re.DOTALL)
    return match[1] if match else ""


def _name(entry: _Entry) -> str:
    return f"{entry.number} {(entry.name or entry.kind)[:24]}"


def _write(thought: str, **fields: str | int) -> str:
    return json.dumps({"thought": thought[:80], **fields}, ensure_ascii=False)


def main() -> None:
    """Serves the rule until it is stopped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draws = random.Random(options.seed)

    def reply(request: ReceivedRequest) -> str:
        return choose_reply(request.text_by("user"), draws)

    with FakeServer(then=reply, port=options.port) as server:
        print(f"listening on {server.url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
