"""The form in a page, and the server beside it that keeps what the page tells of itself."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FIELDS", "PAGE", "SERVER", "WANTED"]

FIELDS: Mapping[str, str] = {
    "first": "First name",
    "last": "Last name",
    "street": "Street",
    "city": "City",
    "country": "Country",
    "phone": "Phone",
    "company": "Company",
    "notes": "Notes",
    "title": "Title",
    "news": "Newsletter",
    "save": "Save",
}
"""What each control of the form is called, in the order of the form."""

WANTED: Mapping[str, str] = {
    "first": "Ada",
    "last": "Lovelace",
    "street": "Elm 3",
    "city": "Bonn",
    "country": "Chile",
    "phone": "555 010",
    "company": "Analytical",
    "notes": "call first",
    "title": "Dr",
    "news": "true",
}
"""What each is to hold at the end."""

_ROWS = "\n".join(
    f"<div class=row id=row-{name}><label for={name}>{label}</label>"
    + (
        f"<select id={name}><option><option>Mr<option>Ms<option>Dr<option>Prof</select>"
        if name == "title"
        else f"<input id={name} type=checkbox>"
        if name == "news"
        else f"<button id={name} type=button>{label}</button>"
        if name == "save"
        else f"<input id={name} autocomplete=off>"
    )
    + "</div>"
    for name, label in FIELDS.items()
)

PAGE = f"""<!doctype html><title>Order form</title><meta charset=utf-8><style>
body{{margin:0;font:16px sans-serif;background:#fff}}
.row{{height:40px;display:flex;align-items:center;padding-left:30px}}
label{{width:150px}} input:not([type=checkbox]),select{{width:300px;height:28px;font:inherit}}
#banner{{height:40px;background:#ffc;padding-left:30px;line-height:40px}}
#over{{position:fixed;left:150px;top:90px;width:420px;height:180px;background:#eee;
border:1px solid #333;padding:20px}}
</style><form id=form onsubmit="return false">
{_ROWS}
</form><dialog id=dialog><p>Your session ends soon.</p><button id=stay type=button>Stay</button>
<button id=leave type=button>Leave</button></dialog><script>
const turn = new URLSearchParams(location.search).get('turn') || '0'
const $ = id => document.getElementById(id)
const names = {list(WANTED)!r}
let clicks = [], saved = false, plan = null, changed = false, when = null
const value = e => e.type === 'checkbox' ? String(e.checked) : e.value
function tell() {{
  const values = Object.fromEntries(names.map(n => [n, value($(n))]))
  const asks = $('dialog').open || !!$('over')
  navigator.sendBeacon('/state', JSON.stringify({{turn, values, clicks, saved, asks, changed}}))
}}
function named(e) {{
  for (let at = e; at; at = at.parentElement) if (at.id && at.id !== 'form') return at.id
  return 'nothing'
}}
addEventListener('mousedown', e => {{
  clicks.push([named(e.target), when === null ? null : performance.now() - when]); tell()
}}, true)
addEventListener('input', e => {{
  tell()
  if (plan && e.target.id === plan.after) {{
    const kind = plan.kind; const delay = plan.delay; plan = null
    setTimeout(() => {{ change(kind); changed = true; when = performance.now(); tell() }}, delay)
  }}
}})
function change(kind) {{
  if (kind === 'dialog') $('dialog').showModal()
  if (kind === 'overlay') {{
    const over = document.createElement('div'); over.id = 'over'
    over.innerHTML = '<p>Your session ends soon.</p><button id=stay2 type=button>Stay</button>'
    document.body.append(over); $('stay2').onclick = () => {{ over.remove(); tell() }}
  }}
  if (kind === 'shift') {{
    const banner = document.createElement('div'); banner.id = 'banner'
    banner.innerHTML = 'We use cookies. <button id=cookies type=button>Accept</button>'
    document.body.prepend(banner)
  }}
  if (kind === 'move') {{
    const rows = names.filter(n => !value($(n)) || value($(n)) === 'false')
    if (rows.length > 1) $('form').append($('row-' + rows[1]))
  }}
}}
$('stay').onclick = $('leave').onclick = () => {{ $('dialog').close(); tell() }}
$('save').onclick = () => {{ saved = true; $('save').textContent = 'Saved'; tell() }}
async function watch() {{
  try {{
    const told = await (await fetch('/turn')).json()
    if (told.turn !== turn) return location.replace('/?turn=' + told.turn)
    if (told.plan && !changed && !plan && !watch.had) {{ plan = told.plan; watch.had = true }}
  }} catch (e) {{}}
  setTimeout(watch, 150)
}}
tell(); watch()
</script>"""

SERVER = """
import http.server, os

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = "turn.json" if self.path == "/turn" else "page.html"
        data = open(name, "rb").read()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if name == "page.html" else "text/json")
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        with open("state.new", "wb") as file:
            file.write(data)
        os.replace("state.new", "state.json")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass

http.server.HTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
"""
"""Serves the page inside the desktop, and keeps the newest state that it told."""
