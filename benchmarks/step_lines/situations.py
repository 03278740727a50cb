"""Pages of one situation each, with what is true of every act on them.

What a line has to tell of an act, and what of it would be false, stands beside the act and was
written down before the first run. The rest is judged by the page's own log, as on other pages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

__all__ = ["SITUATIONS", "LoggedAct", "make_situation", "office_acts"]

_LOG = """
const $ = id => document.getElementById(id);
function painted(e) {  // drawn, not scrolled away, nothing opaque above its middle
  if (!e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) return false;
  const r = e.getBoundingClientRect(), stack = [];
  for (const at of [0.5, 0.1])
    stack.push(document.elementsFromPoint(r.x + r.width * at, r.y + r.height / 2));
  return r.width > 0 && stack.some(all => {
    for (const a of all) {
      if (a == e || e.contains(a)) return true;
      if (a.contains(e)) continue;
      const ground = getComputedStyle(a).backgroundColor;
      if (!/rgba\\(.*, 0?\\.?\\d*\\)$/.test(ground)) return false;
    }
    return false;
  });
}
function named(e) {
  const label = e.labels && e.labels[0] ? e.labels[0].innerText : '';
  return (label || e.getAttribute('aria-label') || e.innerText || '').trim();
}
function shown(e) {  // of a date and a time also as a reader of English sees it
  const v = e.value;
  if (e.type == 'date' && v) { const [y, m, d] = v.split('-'); return `${v} ${m}/${d}/${y}`; }
  if (e.type == 'time' && v) {
    const [h, m] = v.split(':'), t = String(h % 12 || 12).padStart(2, '0');
    return `${v} ${t}:${m} ${h < 12 ? 'AM' : 'PM'}`;
  }
  return v;
}
function cuts() {  // entries that the edge of their list cuts: they show and do not
  const inner = [...document.querySelectorAll('option,[role=option]')];
  return inner.filter(e => {
    const r = e.getBoundingClientRect(), l = e.parentElement.getBoundingClientRect();
    return r.top < l.bottom && r.bottom > l.top && (r.top < l.top - 2 || r.bottom > l.bottom + 2);
  }).map(e => e.innerText);
}
function snap() {
  const texts = [], values = {}, checks = {}, places = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const p = walk.currentNode.parentElement, t = walk.currentNode.data.trim();
    if (!t || ['SCRIPT', 'STYLE'].includes(p.tagName) || p.closest('.own')) continue;
    if (painted(p)) { texts.push(t); }
  }
  for (const e of document.querySelectorAll('input,button,option,[role=option],[data-act]')) {
    const r = e.getBoundingClientRect();
    const inside = r.width > 0 && r.bottom > 0 && r.top < innerHeight;
    if (!(painted(e) || (e.dataset.act && inside))) continue;
    const left = Math.round(r.x + Math.min(r.width / 2, 22));
    places[named(e)] = [left, Math.round(r.y + r.height / 2)];
    if (['text', 'number', 'date', 'time'].includes(e.type)) values[named(e)] = shown(e);
    if (e.type == 'checkbox') checks[named(e)] = e.checked;
  }
  return {texts, values, checks, places, focus: '', refused: 0, painted: '', asked: '',
    cut: cuts()};
}
let last = '';
setInterval(() => {
  const now = JSON.stringify(snap());
  if (now != last) { last = now; fetch('/state', {method: 'POST', body: now, keepalive: true}); }
}, 60);
"""

_TOWNS = (
    "Aveiro", "Bergen", "Cadiz", "Dover", "Esbjerg", "Faro", "Genoa", "Haugesund", "Izmir",
    "Jaffa", "Kiel", "Lisbon", "Malmo", "Narvik", "Odessa", "Porto",
)  # fmt: skip
_PROSE = (
    "The ferry leaves from quay four.", "Bicycles are carried in the hold.",
    "Children travel at half the fare.", "The kitchen closes at ten.",
    "Cabins are cleaned every morning.", "The sauna is on the upper deck.",
)  # fmt: skip
_NOTHING = r"(?i)no visible change|nothing|no effect|did not change|unchanged|not known"
_DENIES_CHANGE = (r"(?i)no visible change", "no listed text or value did", "no text did")


@dataclass(frozen=True)
class LoggedAct:
    """An act, with what its line has to tell (one pattern of each pair) and must not say.

    ``code`` may hold ``{x}`` and ``{y}``: the place of the thing called ``name``; ``#2`` as a name
    is the second entry that shows of the list, and ``{name}`` in a pattern what it is called.
    """

    thought: str
    code: str
    name: str = ""
    mentions: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()


Situation = tuple[str, tuple[LoggedAct, ...]]


def _click(name: str, *, mentions: tuple[str, ...] = (), denies: tuple[str, ...] = ()) -> LoggedAct:
    thought = f"Click {name}." if not name.startswith("#") else "Choose this entry."
    return LoggedAct(thought, "pyautogui.click({x}, {y})", name, mentions, denies)


def _list_box(chance: random.Random) -> Situation:
    """A list of sixteen of which five show."""
    towns = chance.sample(_TOWNS, 16)
    own = chance.random() < 0.5
    entry = "<div role=option tabindex=-1>{}</div>" if own else "<option>{}"
    entries = "".join(entry.format(town) for town in towns)
    pick = (
        "const o = event.target.closest('[role=option]'); if (!o) return;"
        "for (const a of this.children) { a.ariaSelected = null; a.style.background = '' }"
        "o.ariaSelected = 'true'; o.style.background = '#9cf'"
    )
    body = (
        f'<div role=listbox tabindex=0 aria-label=Harbours onclick="{pick}" data-act=1 '
        f"style='height: 130px; width: 260px; overflow: auto; border: 1px solid'>{entries}</div>"
        if own
        else f"<label for=h>Harbours</label><br><select id=h size=5 data-act=1>{entries}</select>"
    )
    wheel = "pyautogui.moveTo({x}, {y})\npyautogui.scroll(%d)"
    chosen = (r"(?i)“{name}”[^.]*select|select[^.]*“{name}”|now reads “{name}”",)
    acts = (
        _click("#2", mentions=chosen, denies=_DENIES_CHANGE),
        LoggedAct("Scroll the list down.", wheel % -2, "#3", denies=_DENIES_CHANGE[:1]),
        _click("#3", mentions=chosen, denies=_DENIES_CHANGE),
        LoggedAct("Scroll the list up.", wheel % 2, "#3", denies=_DENIES_CHANGE[:1]),
        _click("#4", mentions=chosen, denies=_DENIES_CHANGE),
        LoggedAct("Go to the last entry.", "pyautogui.press('end')", denies=_DENIES_CHANGE[:1]),
    )
    return f"<h1>Harbours</h1>{body}<p>{chance.choice(_PROSE)}</p>", acts if not own else acts[:5]


def _re_ordering(chance: random.Random) -> Situation:
    """Rows that change places and nothing else."""
    towns = chance.sample(_TOWNS, 5)
    fares = chance.sample(range(11, 99), 5)
    if [*towns] == sorted(towns) or [*fares] == sorted(fares):
        towns.reverse()
        fares.reverse()
    rows = "".join(
        f"<tr><td>{town}</td><td>{fare}.50</td></tr>"
        for town, fare in zip(towns, fares, strict=True)
    )
    order = "const k = {}, b = $('b'); [...b.rows].sort((p, q) => {}).forEach(r => b.append(r))"
    by_name = order.replace("{}", "0", 1).replace(
        "{}", "p.cells[0].innerText < q.cells[0].innerText ? -1 : 1"
    )
    by_fare = order.replace("{}", "1", 1).replace(
        "{}", "p.cells[1].innerText - q.cells[1].innerText"
    )
    upwards = "const r = $('b').rows[4]; $('b').insertBefore(r, $('b').rows[3])"
    patterns = (r"(?i)order|moved|above|below|before|after|swap|place|row \d|first|last",)
    new_or_gone = tuple(f"(?:New on the screen|Gone)[^.]*“{town}”" for town in towns)
    return (
        f"<h1>Fares</h1><table border=1><tbody id=b>{rows}</tbody></table><p>"
        f'<button onclick="{by_name}">A to Z</button> <button onclick="{by_fare}">Cheap</button> '
        f'<button onclick="{upwards}">Promote</button></p>',
        tuple(
            _click(name, mentions=patterns, denies=(*_DENIES_CHANGE, *new_or_gone))
            for name in ("A to Z", "Cheap", "Promote")
        ),
    )


def _text_selection(chance: random.Random) -> Situation:
    """A sentence and a field of which text is selected."""
    sentence, town = chance.choice(_PROSE), chance.choice(_TOWNS)
    body = (
        f"<h1>Ferry</h1><p data-act=1 aria-label=Sentence><span>{sentence}</span></p>"
        f"<label for=f>Town</label> <input type=text id=f value={town}>"
    )
    patterns = (r"(?i)select|highlight|marked",)
    return body, (
        LoggedAct(
            "Select the sentence.",
            "pyautogui.tripleClick({x}, {y})",
            "Sentence",
            patterns,
            _DENIES_CHANGE,
        ),
        LoggedAct(
            "Select the word.",
            "pyautogui.doubleClick({x}, {y})",
            "Town",
            patterns,
            (*_DENIES_CHANGE, r"now reads “selected”"),
        ),
        LoggedAct(
            "Select everything.", "pyautogui.hotkey('ctrl', 'a')", "", (), ("now reads “selected”",)
        ),
    )


def _ticking(chance: random.Random) -> Situation:
    """A clock or prices that go on by themselves beside buttons, of which one does nothing."""
    seconds = chance.choice((1000, 400))
    sentence = chance.choice(_PROSE)
    ticks = {
        1000: "$('t').textContent = new Date().toLocaleTimeString('en-GB')",
        400: "$('t').textContent = 'Fare ' + (40 + Math.random() * 9).toFixed(2)",
    }[seconds]
    dead = chance.choice(("Check in", "Print pass"))
    body = (
        f"<h1>Departures</h1><p class=own id=t>-</p><p><button>{dead}</button> <button "
        f"onclick=\"$('o').textContent = '{sentence}'\">Details</button> "
        f"<button onclick=\"$('o').textContent = ''\">Close</button></p><p id=o></p>"
        f"<script>setInterval(() => {{ {ticks} }}, {seconds})</script>"
    )
    nothing = _click(dead, mentions=(_NOTHING,), denies=("^Succeeded",))
    return body, (
        nothing,
        _click("Details", mentions=(sentence[:20],), denies=("^No visible",)),
        nothing,
        _click("Close", mentions=(sentence[:20], r"(?i)gone"), denies=("^No visible",)),
        nothing,
    )


def _dialog_over_scrolled(chance: random.Random) -> Situation:
    """A card over everything opens while the page behind it goes elsewhere."""
    question, *far = chance.sample(_PROSE, 5)
    towns = chance.sample(_TOWNS, 4)
    section = "".join(
        f"<h2>{town}</h2><p>{text}</p>" for town, text in zip(towns, far, strict=True)
    )
    modal = chance.random() < 0.5
    shown = "$('d').showModal()" if modal else "$('d').style.display = 'block'"
    closed = "$('d').close()" if modal else "$('d').style.display = 'none'"
    kind = "dialog" if modal else "div"
    body = (
        "<style>#d { background: #fff; border: 0; inset: 0; margin: 0; padding: 40px; "
        "width: 100vw; height: 100vh; max-width: none; max-height: none; "
        "box-sizing: border-box; position: fixed } div#d { display: none }</style>"
        f'<h1>Ferries</h1><button onclick="{shown}; scrollTo(0, 1600)">Conditions</button>'
        f"<div style='height: 1500px'></div>{section}<div style='height: 900px'></div>"
        f'<{kind} id=d><h2>Terms of carriage</h2><p>{question}</p><button onclick="{closed}">Agree'
        f"</button></{kind}>"
    )
    behind = tuple(f"“{word}" for word in (*towns, *(text[:20] for text in far)))
    return body, (
        _click("Conditions", mentions=(question[:20],), denies=behind),
        LoggedAct("Wait for it.", "pyautogui.moveTo(640, 620)", "", (), behind),
        _click("Agree", mentions=("|".join((*towns, question[:20])),), denies=("^No visible",)),
    )


def _hover_only(chance: random.Random) -> Situation:
    """Buttons that are painted where the pointer is, and one that a bar covers."""
    towns = chance.sample(_TOWNS, 3)
    way = chance.choice(("opacity: 0", "visibility: hidden"))
    back = way.replace("0", "1").replace("hidden", "visible")
    rows = "".join(
        f"<p class=r data-act=1 aria-label={town}><span>{town}</span> "
        f"<button onclick=\"$('o').textContent = 'Left out: {town}'\">Leave out {town}</button></p>"
        for town in towns
    )
    body = (
        f"<style>.r {{ padding: 10px }} .r button {{ {way} }} .r:hover button {{ {back} }}"
        "#bar { position: fixed; left: 0; bottom: 0; width: 100%; height: 80px; "
        "background: #ddd }</style>"
        f"<h1>Route</h1>{rows}<p id=o></p><div style='position: absolute; bottom: 20px'>"
        "<button>Below the bar</button></div><div id=bar>We sail in all weathers.</div>"
    )
    never = (r"Not drawn yet", r"(?i)\bwait\b")
    acts = [
        LoggedAct(
            f"Look at {town}.", "pyautogui.moveTo({x}, {y})", town, (f"Leave out {town}",), never
        )
        for town in towns
    ]
    last = towns[-1]
    leave = _click(f"Leave out {last}", mentions=(f"Left out: {last}",), denies=never)
    return body, (*acts, leave)


def _disabled_controls(chance: random.Random) -> Situation:
    """Buttons that cannot be pressed now."""
    town = chance.choice(_TOWNS)
    body = (
        f"<h1>{town}</h1><p><button disabled onclick=\"$('o').textContent = 'Paid.'\">Pay now"
        "</button> <button aria-disabled=true style='opacity: .5'>Reserve</button></p>"
        "<p><label for=c>Terms</label> <input type=checkbox id=c disabled></p><p id=o></p>"
    )
    nothing = (_NOTHING + "|disabled|not enabled|cannot be|greyed",)
    return body, tuple(
        _click(name, mentions=nothing, denies=("^Succeeded",))
        for name in ("Pay now", "Reserve", "Terms")
    )


def _typed_fields(chance: random.Random) -> Situation:
    """A date, a time, a month's week and a slider, all set by keys."""
    day, month, hour = chance.randint(10, 28), chance.randint(10, 12), chance.randint(10, 12)
    body = (
        "<h1>Booking</h1><p><label for=d>Arrival</label> <input type=date id=d></p>"
        "<p><label for=t>Boarding</label> <input type=time id=t></p>"
        "<p><label for=n>Cabins</label> <input type=number id=n value=1></p>"
        "<p><label for=r>Volume</label> <input type=range id=r value=40></p>"
    )
    written = "pyautogui.click({x}, {y})\npyautogui.write('%s')"
    date = rf"2026-{month}-{day}|{month}/{day}/2026|{day}[./]{month}[./]2026"
    return body, (
        LoggedAct(
            "Fill in the arrival.",
            written % f"{month}{day}2026",
            "Arrival",
            (date,),
            _DENIES_CHANGE,
        ),
        LoggedAct(
            "Fill in the boarding time.",
            written % f"{hour}15AM",
            "Boarding",
            (rf"{hour}:15|{hour % 12:02}:15",),
            _DENIES_CHANGE,
        ),
        LoggedAct(
            "One cabin more.",
            "pyautogui.click({x}, {y})\npyautogui.press('up')",
            "Cabins",
            ("“2”|Cabins[^.]*2",),
            _DENIES_CHANGE,
        ),
    )


def _file_chooser(chance: random.Random) -> Situation:
    """A file that is chosen in the desktop's own dialog."""
    name = chance.choice(("plan.txt", "crew.txt"))
    body = (
        "<h1>Upload</h1><p><label for=u>Attachment</label> <input type=file id=u "
        "onchange=\"$('o').textContent = 'Chosen: ' + this.files[0].name\"></p><p id=o></p>"
    )
    never = ("All windows of", "nothing was to be closed")
    return body, (
        _click("Attachment", mentions=("(?i)open|file|window|dialog",), denies=never),
        LoggedAct(
            "Choose the file.",
            f"pyautogui.write('/home/user/{name}')\npyautogui.sleep(1)\npyautogui.press('enter')",
            "",
            (f"{name}|Chosen",),
            never,
        ),
    )


def _keys(*steps: tuple[str, str, tuple[str, ...], tuple[str, ...]]) -> Iterator[LoggedAct]:
    for thought, code, mentions, denies in steps:
        yield LoggedAct(thought, code, "", mentions, denies)


def office_acts(kind: str, chance: random.Random) -> Iterator[LoggedAct]:
    """Acts by keys on an application's dialogs, and on words that only sound like a refusal.

    Args:
        kind: ``calc``, ``writer`` or ``mousepad``.
        chance: what words are drawn by.
    """
    escape = "pyautogui.press('escape')"
    no_refusal = ("^Unexpected", "^Failed", "came up")
    if kind == "mousepad":
        name = chance.choice(("plan.txt", "crew.txt"))
        written = f"pyautogui.write('/home/user/{name}')\npyautogui.press('enter')"
        yield from _keys(
            ("Open a file.", "pyautogui.hotkey('ctrl', 'o')", ("(?i)“?open",), _DENIES_CHANGE),
            (
                "Choose the file.",
                written,
                (f"{name}|plan|crew",),
                ("All windows of", "nothing was to be closed"),
            ),
        )
        return
    if kind == "writer":
        table = "Insert Table"
        yield from _keys(
            ("Insert a table.", "pyautogui.hotkey('ctrl', 'f12')", (table,), _DENIES_CHANGE),
            ("Leave it.", escape, (table,), _DENIES_CHANGE),
            ("Insert a table.", "pyautogui.hotkey('ctrl', 'f12')", (table,), _DENIES_CHANGE),
            ("Make it.", "pyautogui.press('enter')", ("(?i)table",), _DENIES_CHANGE),
            ("Fill the cell.", "pyautogui.write('Failed parts')", ("Failed parts",), no_refusal),
        )
        return
    words = chance.sample(
        ("Upper limit (bar)", "Error rate (%)", "Failed parts", "Not valid before", "Refused"), 3
    )
    for word in words:
        yield LoggedAct(
            "Fill the cell.",
            f"pyautogui.write({word!r})\npyautogui.press('enter')",
            "",
            (word[:8],),
            no_refusal,
        )
    for keys, title in (
        ("'ctrl', '1'", "Format Cells"),
        ("'ctrl', 'f2'", "Function Wizard"),
        ("'ctrl', 'f3'", "Manage Names"),
        ("'ctrl', 'h'", "Find"),
    ):
        yield from _keys(
            (f"Open {title}.", f"pyautogui.hotkey({keys})", (title,), _DENIES_CHANGE),
            ("Leave it.", escape, (title,), _DENIES_CHANGE),
        )
    yield from _keys(
        (
            "Select two cells.",
            "pyautogui.press('up')\npyautogui.hotkey('shift', 'up')",
            (),
            ("now reads “selected”", *no_refusal),
        ),
        ("Go on.", "pyautogui.press('down')", (), ("now reads “selected”", *no_refusal)),
    )


SITUATIONS: Mapping[str, Callable[[random.Random], Situation]] = {
    "list box": _list_box,
    "re-ordering": _re_ordering,
    "text selection": _text_selection,
    "ticking": _ticking,
    "dialog over scrolled": _dialog_over_scrolled,
    "hover only": _hover_only,
    "disabled": _disabled_controls,
    "typed fields": _typed_fields,
    "file chooser": _file_chooser,
}
"""Each situation by name."""


def make_situation(kind: str, chance: random.Random) -> tuple[str, Iterator[LoggedAct]]:
    """A situation's page, and the acts on it in order.

    Args:
        kind: a name of `SITUATIONS`.
        chance: what words and variants are drawn by.
    """
    body, acts = SITUATIONS[kind](chance)
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Ferry</title>"
        "<style>body { font: 18px sans-serif; margin: 12px }</style>"
        f"<script>{_LOG}</script>{body}"
    )
    return page, iter(acts)
