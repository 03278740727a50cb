"""A page that never stands still, with the things of which lines were false in play.

A clock and prices tick; one button does nothing and one is disabled; a list box scrolls, entries
are chosen in it; a list is put in another order; a button is painted only under the pointer; a
dialog comes up while the page scrolls behind it; a date and a time are typed.
"""

from __future__ import annotations

import html
import random
from collections.abc import Iterator
from typing import Any

from benchmarks.step_lines.page import Act

__all__ = ["act_code", "make_restless", "restless_acts"]

_TOWNS = ("Porto", "Lisbon", "Faro", "Braga", "Evora", "Sines", "Tavira", "Coimbra", "Aveiro")
_TASKS = ("Water the plants", "Call the bank", "Pay the rent", "Book a table", "Mend the roof")
_HEADLINES = ("Rain ahead", "Ferry delayed", "Market opens early", "Bridge closed on Monday")
_NAMES = {
    "idle": ("Check again", "Refresh", "Recalculate"),
    "first": ("Last one first", "Move to top"),
    "hover": ("Delete row", "Archive row"),
    "ask": ("Terms", "Remove all"),
    "add": ("Add a note", "New note"),
    "dead": ("Pay now", "Merge", "Print"),
}
_QUESTIONS = ("Really remove all of it?", "Read the terms first.", "Do you want to go on?")
_LINES = (
    "The harbour opens at seven.", "Dogs travel free of charge.", "Bring a warm jacket.",
    "The museum has four floors.", "Rain is forecast for Sunday.", "Tickets are sold at the door.",
)  # fmt: skip
_DATES = (("12242026", "2026-12-24"), ("03052027", "2027-03-05"), ("11302026", "2026-11-30"))
_TIMES = (("0815am", "08:15"), ("1140am", "11:40"), ("0930pm", "21:30"))

_SCRIPT = """
const $ = id => document.getElementById(id);
let last = '', behind = null;
function seen(e) {
  const r = e.getBoundingClientRect(), s = e.closest('select');
  const within = s ? s.getBoundingClientRect() : {top: 0, bottom: innerHeight};
  return (s || e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) && r.width > 0
    && r.top < within.bottom && r.bottom > within.top && !cut(r, within);
}
function cut(r, within) {
  return r.top < within.bottom && r.bottom > within.top
    && (r.top < within.top - 2 || r.bottom > within.bottom + 2);
}
function cuts() {
  const l = $('l').getBoundingClientRect(), page = {top: 0, bottom: innerHeight};
  return [...document.querySelectorAll('p,li,button')].filter(e =>
    cut(e.getBoundingClientRect(), page)).map(e => e.innerText).concat([...$('l').options].filter(
    e => cut(e.getBoundingClientRect(), l)).map(e => e.text));
}
function label(e) {
  return e ? (e.labels && e.labels[0] ? e.labels[0].innerText : e.innerText || e.id || '').trim()
    : '';
}
function shown(e) {
  const v = e.value;
  if (e.type == 'date' && v) { const [y, m, d] = v.split('-'); return `${v} ${m}/${d}/${y}`; }
  if (e.type == 'time' && v) {
    const [h, m] = v.split(':'), t = String(h % 12 || 12).padStart(2, '0');
    return `${v} ${t}:${m} ${h < 12 ? 'AM' : 'PM'}`;
  }
  return v;
}
function textsIn(root) {
  const found = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const p = walk.currentNode.parentElement, t = walk.currentNode.data.trim();
    if (t && !p.closest('script,style,.own') && seen(p)) found.push(t);
  }
  return found;
}
function snap() {
  const values = {}, places = {}, d = $('d');
  let texts = textsIn(document.body);
  if (d.open) { behind = behind || texts.filter(t => !d.innerText.includes(t));
    texts = [...behind, ...textsIn(d)];
  } else behind = null;
  for (const e of document.querySelectorAll('input,select,button,p.t,.h')) {
    const r = e.getBoundingClientRect(), name = e.matches('p.t,.h') ? e.id : label(e);
    if (r.bottom < 0 || r.top > innerHeight) continue;
    const across = e.matches('input') ? 12 : Math.min(r.width / 2, 60);
    places[name] = [Math.round(r.x + across), Math.round(r.y + r.height / 2)];
    if (e.tagName == 'INPUT') values[name] = shown(e);
  }
  const f = document.activeElement, field = f.matches('input,select') ? label(f) : '';
  return {texts, values, checks: {}, places, focus: f == document.body ? '' : label(f), refused: 0,
    painted: '', asked: '', selected: [...$('l').selectedOptions].map(o => o.text),
    selection: String(getSelection()), own: [...document.querySelectorAll('.own')].map(e =>
      e.innerText), scrolled: [scrollY, $('l').scrollTop], cut: cuts(), field,
    entries: [...(f.options || [])].map(o => o.text), dead: window.dead || 0};
}
function tell() {
  const now = JSON.stringify(snap());
  if (now != last) { last = now; fetch('/state', {method: 'POST', body: now, keepalive: true}); }
}
setInterval(tell, 60);
addEventListener('pointerdown', e => {
  const d = document.querySelector('button[disabled]').getBoundingClientRect();
  if (e.clientX > d.left && e.clientX < d.right && e.clientY > d.top && e.clientY < d.bottom)
    window.dead = (window.dead || 0) + 1;
}, true);
function ticks(id, every, text) { $(id).textContent = text(); setInterval(() => {
  $(id).textContent = text(); }, every); }
"""


def make_restless(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """A page, and what is on it by kind."""
    towns = [f"{town} {number}" for number in (1, 2, 3) for town in _TOWNS]
    chance.shuffle(towns)
    tasks, lines = chance.sample(_TASKS, 4), chance.sample(_LINES, 3)
    names = {key: chance.choice(texts) for key, texts in _NAMES.items()}
    question, jump = chance.choice(_QUESTIONS), chance.choice((0, 260))
    moving = {
        "clock": "ticks('k', 1000, () => new Date().toLocaleTimeString())",
        "prices": "ticks('p', 350, () => 'Fare ' + (20 + Math.random() * 9).toFixed(2))",
        "news": f"let n = 0; ticks('n', 2500, () => {list(_HEADLINES)!r}[n++ % {len(_HEADLINES)}])",
    }
    running = chance.sample(list(moving), chance.choice((1, 1, 2)))
    note = "notes.insertAdjacentHTML('beforeend', '<li>Note ' + (notes.children.length + 1))"
    first = "o.insertBefore(o.lastElementChild, o.firstElementChild)"
    text = f"""<!doctype html><meta charset=utf-8><title>Trips {chance.randrange(100)}</title>
<style>body {{ font: 17px sans-serif; margin: 12px }} p {{ margin: 8px 0 }} .h button {{ opacity: 0
}} .h:hover button {{ opacity: 1 }} .h {{ padding: 6px; border: 1px solid #ccc }}
dialog {{ width: 360px; margin-top: 220px }}</style><script>{_SCRIPT}</script>
<p><span class=own id=k></span> <span class=own id=p></span> <span class=own id=n></span></p>
<p><label for=day>Arrival</label> <input type=date id=day> <label for=time>Hour</label>
<input type=time id=time> <button>{names["idle"]}</button> <button disabled>{names["dead"]}</button>
<button onclick="{html.escape(note)}">{names["add"]}</button></p>
<p><label for=l>Towns</label> <select id=l multiple size=6>
{"".join(f"<option>{town}" for town in towns)}</select></p>
<ul id=o>{"".join(f"<li>{task}" for task in tasks)}</ul>
<p><button onclick="{html.escape(first)}">{names["first"]}</button>
<button onclick="d.showModal(); scrollTo(0, {jump})">{names["ask"]}</button></p>
<p class=t id=words>{lines[0]}</p>
<div class=h id=row>Row one <button>{names["hover"]}</button></div>
<ul id=notes></ul>{"".join(f"<p>Paragraph {n}: {chance.choice(_LINES)}</p>" for n in range(30))}
<dialog id=d><p>{question}</p><button onclick="d.close()">Close it</button></dialog>
<script>{"; ".join(moving[key] for key in running)}</script>"""
    return text, {"towns": towns, "words": lines[0], **names}


def restless_acts(page: dict[str, Any], chance: random.Random, count: int) -> Iterator[Act]:
    """So many acts, in an order drawn by chance."""
    kinds = ["idle", "dead", "add", "wheel", "choose", "first", "hover", "ask", "date", "time"]
    kinds += ["idle", "wheel", "first", "word"]
    act_count = 0
    while act_count < count:
        kind = chance.choice(kinds)
        act_count += 1
        match kind:
            case "date" | "time":
                typed, _ = chance.choice(_DATES if kind == "date" else _TIMES)
                name = "Arrival" if kind == "date" else "Hour"
                yield Act("fill", name, typed, f"Fill in {name}.")
            case "wheel":
                yield Act("wheel", "Towns", str(chance.choice((-3, 2, -2))), "Scroll the towns.")
            case "choose":
                yield Act("click", "Towns", "", "Choose a town.")
            case "hover":
                yield Act("move", "row", "", "Look at what the row offers.")
            case "word":
                yield Act("double", "words", "", "Select a word.")
            case "ask":
                yield Act("click", page["ask"], "", f"Click {page['ask']}.")
                yield Act("key", "", "escape", "Close it.")
                yield Act("key", "", "ctrl home", "Back to the top.")
                act_count += 2
            case _:
                yield Act("click", page[kind], "", f"Click {page[kind]}.")


def act_code(act: Act, place: tuple[int, int]) -> str:
    """PyAutoGUI source of an act at a place of the page."""
    x, y = place
    match act.kind:
        case "wheel":
            return f"pyautogui.scroll({act.text}, {x}, {y})"
        case "move":
            return f"pyautogui.moveTo({x}, {y})"
        case "double":
            return f"pyautogui.doubleClick({x}, {y})"
        case "fill":
            return f"pyautogui.click({x}, {y})\npyautogui.write({act.text!r})"
        case "key":
            return f"pyautogui.hotkey({', '.join(map(repr, act.text.split()))})"
        case _:
            return f"pyautogui.click({x}, {y})"
