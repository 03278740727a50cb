"""A page made by seed, which logs what it shows, and the acts that are done on it."""

from __future__ import annotations

import html
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["SERVER", "Act", "acts_on", "make_page"]

_REFUSALS = {
    "tune": (
        "YYYY-MM-DD, please",
        "This field is required",
        "Name must not be empty",
        "Sorry, that seat is taken already",
        "Quota exceeded",
        "Could not reach the server",
    ),
    "report": (
        "DD/MM/YYYY, please",
        "Enter at least 3 letters",
        "That is not a valid address",
        "Out of stock",
        "You are offline",
        "Two letters are too few",
        "This name is in use already",
        "Saving failed",
        "Only numbers here",
    ),
}
"""What the pages of either half say against an act; those to report were written down before the
first of them was looked at, and the rules were not changed for them."""
_GRANTS = ("Thank you, we have it.", "Saved.", "Added to your list.", "Seat 14 is yours.")
_QUESTIONS = {
    "tune": ("Delete user Ada?", "Really leave this page?"),
    "report": ("Remove all 3 rows?", "Send the order now?", "Discard the draft?"),
}
_LABELS = ("Date", "Name", "Street", "City", "Email", "Phone", "Seat", "Remark", "Amount", "Code")
_TICKS = ("Newsletter", "Gift wrap", "Express", "Window seat", "Remember me")
_PROSE = (
    "The harbour opens at seven.", "Tickets are sold at the door.", "Dogs travel free of charge.",
    "Rain is forecast for Sunday.", "The museum has four floors.", "Bring a warm jacket.",
)  # fmt: skip
_PAINTED = ("Painted meadow", "Silver bridge", "Morning train", "Hidden garden")
_TYPED = (
    "tomorrow",
    "Al",
    "12 Mill Lane",
    "Porto",
    "ada@example",
    "5550100",
    "14C",
    "x",
    "about 7",
)

SERVER = """
import http.server, os
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        body = open('page.html', 'rb').read()
        self.send_response(200); self.send_header('Content-Type', 'text/html; charset=utf-8')
        self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        data = self.rfile.read(int(self.headers['Content-Length']))
        name = 'asked.json' if self.path == '/asked' else 'state.json'
        open(name + '.new', 'wb').write(data); os.replace(name + '.new', name)
        self.send_response(204); self.end_headers()
http.server.ThreadingHTTPServer(('127.0.0.1', 8766), H).serve_forever()
"""

_SCRIPT = """
let refused = 0, last = '';
const $ = id => document.getElementById(id);
function seen(e) {
  const r = e.getBoundingClientRect();
  return e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && r.width > 0
    && r.bottom > 0 && r.top < innerHeight;
}
function label(e) {
  return e ? (e.labels && e.labels[0] ? e.labels[0].innerText : e.innerText || e.id || '').trim()
    : '';
}
function snap() {
  const texts = [], values = {}, checks = {}, places = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const p = walk.currentNode.parentElement, t = walk.currentNode.data.trim();
    if (t && !['SCRIPT', 'STYLE', 'OPTION'].includes(p.tagName) && seen(p)) texts.push(t);
  }
  for (const e of document.querySelectorAll('input,select,button,canvas')) {
    if (!seen(e)) continue;
    const r = e.getBoundingClientRect(), name = label(e);
    places[name] = [Math.round(r.x + Math.min(r.width / 2, 60)), Math.round(r.y + r.height / 2)];
    if (e.type == 'checkbox') checks[name] = e.checked;
    else if (e.tagName == 'SELECT') values[name] = e.selectedOptions[0].text;
    else if (e.tagName == 'INPUT') values[name] = e.value;
  }
  const f = document.activeElement;
  return {texts, values, checks, places, focus: f == document.body ? '' : label(f), refused,
    painted: window.painted || '', asked: ''};
}
function tell() {
  const now = JSON.stringify(snap());
  if (now != last) { last = now; fetch('/state', {method: 'POST', body: now, keepalive: true}); }
}
setInterval(tell, 60);
function ask(question) {
  const r = new XMLHttpRequest(); r.open('POST', '/asked', false);
  r.send(JSON.stringify({asked: question, refused: ++refused}));
  const done = confirm(question);
  const q = new XMLHttpRequest(); q.open('POST', '/asked', false);
  q.send(JSON.stringify({asked: '', refused}));
  return done;
}
function refuse(how, words, at) {
  refused++;
  if (how == 'toast') {
    $('toast').textContent = words; $('toast').style.display = 'block';
    setTimeout(() => $('toast').style.display = 'none', 30000);
  } else if (how == 'alert') { $('alert').textContent = words;
  } else $(at).textContent = words;
}
function clear_() { for (const e of document.querySelectorAll('.m')) e.textContent = ''; }
function paint(words) {
  const c = $('c').getContext('2d'); c.clearRect(0, 0, 400, 60);
  c.font = '26px sans-serif'; c.fillText(words, 8, 38); window.painted = words;
}
"""


@dataclass(frozen=True)
class Act:
    """An act on a named thing of the page; ``thought`` is what a planner would have had in mind."""

    kind: str
    name: str = ""
    text: str = ""
    thought: str = ""


def make_page(chance: random.Random, part: str) -> tuple[str, dict[str, Any]]:
    """A page, and what is on it by kind."""
    labels = chance.sample(_LABELS, 4)
    ticks = chance.sample(_TICKS, 2)
    refusal_kind = chance.choice(("beside", "toast", "alert"))
    words = chance.choice(_REFUSALS[part])
    grant, question = chance.choice(_GRANTS), chance.choice(_QUESTIONS[part])
    prose, painted = chance.sample(_PROSE, 3), chance.choice(_PAINTED)
    names = {
        "send": chance.choice(("Send", "Submit", "Book")),
        "ask": chance.choice(("Remove", "Clear all")),
        "more": chance.choice(("More", "Details")),
        "dim": chance.choice(("Help", "About the trip")),
        "paint": chance.choice(("Draw", "Show sign")),
        "add": chance.choice(("Add row", "New entry")),
    }
    fields = "".join(
        f"<p><label for=f{at}>{name}</label> <input id=f{at} autocomplete=off> "
        f"<span class=m id=m{at}></span></p>"
        for at, name in enumerate(labels)
    )
    boxes = "".join(
        f"<label for=t{at}><input type=checkbox id=t{at}>{name}</label> "
        for at, name in enumerate(ticks)
    )
    # The second field decides: with two letters or fewer the page refuses.
    sent = (
        f"clear_(); if ($('f1').value.length < 3) refuse({refusal_kind!r}, {words!r}, 'm1');"
        f" else $('ok').textContent = {grant!r}; return false"
    )
    modal = chance.choice((True, False))
    opened = "d.showModal()" if modal else "over.style.display = 'block'"
    text = f"""<!doctype html><meta charset=utf-8><title>Trip {chance.randrange(100)}</title>
<style>body {{ font: 18px sans-serif; margin: 12px }} p {{ margin: 8px 0 }}
#toast {{ display: none; position: fixed; right: 16px; bottom: 16px; background: #222; color: #fff;
padding: 10px }} #over {{ display: none; position: fixed; inset: 0; background: #0008 }}
#over p {{ background: #fff; margin: 200px auto; width: 400px; padding: 16px }}</style>
<script>{_SCRIPT}</script><h1>Your trip</h1><form novalidate onsubmit="{html.escape(sent)}">
{fields}<p>{boxes}</p><p><label for=s>Class</label> <select id=s><option>First<option>Second
</select></p><button>{names["send"]}</button> <span class=m id=ok></span></form>
<div role=alert class=m id=alert></div><p>
<button onclick="{html.escape(f"if (ask({question!r})) rows.innerHTML = ''")}"
>{names["ask"]}</button>
<button onclick="extra.style.display = extra.style.display ? '' : 'none'">{names["more"]}</button>
<button onclick="{opened}">{names["dim"]}</button>
<button onclick="{html.escape(f"paint({painted!r})")}">{names["paint"]}</button>
<button onclick="rows.insertAdjacentHTML('beforeend', '<li>Row ' + (rows.children.length + 1))"
>{names["add"]}</button></p>
<p id=extra style="display: none">{prose[0]}</p><ul id=rows><li>Row 1</ul>
<canvas id=c width=400 height=60></canvas><div id=toast></div>
<dialog id=d><p>{prose[1]}</p><button onclick="d.close()">Close it</button></dialog>
<div id=over onclick="this.style.display = 'none'"><p>{prose[2]}</p></div>"""
    return text, {"labels": labels, "ticks": ticks, "modal": modal, "painted": painted, **names}


def acts_on(page: dict[str, Any], chance: random.Random, count: int) -> Iterator[Act]:
    """So many acts, in an order drawn by chance; a question and a layer are answered next."""
    act_count = 0
    while act_count < count:
        kind = chance.choice(
            (
                "type",
                "type",
                "type",
                "type",
                "send",
                "send",
                "tick",
                "ask",
                "more",
                "dim",
                "paint",
                "add",
                "key",
                "many",
            )
        )
        match kind:
            case "type":
                name, text = chance.choice(page["labels"]), chance.choice(_TYPED)
                yield Act("type", name, text, f"Fill in {name}.")
            case "many":
                text = chance.choice(_TYPED)
                first, second = page["labels"][:2]
                yield Act("many", first, text, f"Fill in {first} and {second}.")
            case "key":
                yield Act("key", "", "tab", "Go to the next field.")
            case "tick":
                name = chance.choice(page["ticks"])
                yield Act("click", name, "", f"Tick {name}.")
            case "ask":
                yield Act("click", page["ask"], "", f"Click {page['ask']}.")
                yield Act("key", "", chance.choice(("enter", "escape")), "Answer it.")
                act_count += 1
            case "dim":
                yield Act("click", page["dim"], "", f"Click {page['dim']}.")
                away = Act("key", "", "escape", "Close it.")
                yield away if page["modal"] else Act("at", "", "1000,600", "Click it away.")
                act_count += 1
            case _:
                yield Act("click", page[kind], "", f"Click {page[kind]}.")
        act_count += 1
