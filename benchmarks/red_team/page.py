"""What runs inside the desktop: the page, the server beside it, and the program with windows.

Each tells a log of its own of what it was given: which control had the event, and how many
milliseconds after the change. A log belongs to a turn, which is a variant's number.
"""

from __future__ import annotations

__all__ = ["PAGE", "SERVER", "WINDOWS"]

PAGE = """<!doctype html><title>Orders</title><meta charset=utf-8><style>
body{margin:0;font:16px sans-serif;background:#fff;overflow:hidden;height:100vh}
h1{margin:20px 40px;font-size:26px} p{margin:10px 40px}
button,.cell,input,[role=menuitem],#zone{position:absolute;width:170px;height:36px;font:inherit;
box-sizing:border-box;margin:0}
#layer{position:fixed;background:#fffbe6;border:1px solid #333}
[role=menu]{position:fixed;background:#fff;border:1px solid #333;box-shadow:0 2px 8px #888}
[role=menuitem]{display:block;width:230px;padding:8px;cursor:pointer}
[role=menuitem]:hover,[role=menuitem]:focus{background:#cde}
#zone{border:2px dashed #333;text-align:center}
.hover{transition:background .3s,box-shadow .3s}.hover:hover{background:#8cf;
box-shadow:0 0 9px #06c}
.spin{position:absolute;width:28px;height:28px;border:4px solid #ccc;border-top-color:#06c;
border-radius:50%;animation:s 1s linear infinite}@keyframes s{to{transform:rotate(360deg)}}
.cell{border:1px solid #ccc;background:#fff;width:110px;height:28px;padding:4px;overflow:hidden}
.here{outline:2px solid #06c}
</style><h1>Orders</h1><p>42 orders are open. Choose what to do with them.</p><div id=all></div>
<script>
const turn = new URLSearchParams(location.search).get('turn') || '0'
const $ = id => document.getElementById(id)
let scene = null, log = [], when = null, ready = false, asks = false, number = 0
function tell() {
  number++
  navigator.sendBeacon('/log', JSON.stringify({turn, number, log, when, ready, asks,
    inner: [innerWidth, innerHeight, screenX, screenY, outerWidth, outerHeight]}))
}
function named(e) {
  for (let at = e; at; at = at.parentElement) if (at.id && at.id !== 'all') return at.id
  return ''
}
function note(id, type) {
  log.push([id, type, when === null ? null : performance.now() - when]); tell()
}
for (const type of ['pointerdown', 'pointerup', 'click'])
  addEventListener(type, e => note(named(e.target), type), true)
addEventListener('keydown', e => note(named(document.activeElement), 'keydown ' + e.key), true)
function add(kind, id, text, x, y, parent) {
  const e = document.createElement(kind); e.id = id; e.textContent = text
  e.style.left = x + 'px'; e.style.top = y + 'px'; (parent || $('all')).append(e); return e
}
let every = [], begun = false
function begin() {  // the change is the page's answer to what was done to it
  if (begun) return
  begun = true; fetch('/begin?' + turn + '&' + scene.delay)
  if (scene.phase === 'press') change(); else setTimeout(change, scene.delay * 1000)
}
const answers = () => ['press', 'later'].includes(scene.phase)
const each = (ms, f) => every.push(setInterval(f, ms))
function show() {
  const [x, y] = scene.place, [good, bad] = scene.labels, kind = scene.kind
  const beside = scene.near ? [x + 190, y] : [x < 400 ? 900 : 40, y < 350 ? 600 : 130]
  if (kind === 'still') {
    if (scene.way === 'drag') { const z = add('div', 'zone', bad, x, y); z.tabIndex = 0
      z.setAttribute('role', 'button')
      add('div', 'item', 'Report.txt', x - 60, y - 60).style.position = 'absolute' }
    else add('button', 'danger', bad, x, y)
  } else if (kind === 'rows') for (let n = 0; n < 5; n++) {
    const at = y + 40 * (n - 2), e = add('span', 'name-' + n, scene.rows[n], x + 190, at + 8)
    e.style.position = 'absolute'
    add('button', n === 2 ? 'target' : 'other-' + n, good, x, at)
  } else if (!kind.startsWith('still')) {
    if (kind === 'cell') {
      for (let r = 0; r < 5; r++) for (let c = 0; c < 5; c++) {
        const e = add('div', 'cell-' + r + c, 'Item ' + r + c, x + c * 110, y + 60 + r * 28)
        e.className = 'cell' }
      let at = 0; const go = () => { document.querySelectorAll('.cell').forEach((e, n) =>
        e.classList.toggle('here', n === at)); at = (at + 1) % 25 }
      go(); each(350, go)
    }
    const field = kind === 'caret' && scene.other
    const e = add(field ? 'input' : 'button', 'target', field ? '' : good, x, y)
    if (field) e.setAttribute('aria-label', good)
    if (kind === 'caret' && !scene.other) add('input', 'note', '', x + 190, y)
  }
  if (kind === 'move') add('button', 'danger', bad, x, y + 60)
  if (kind === 'swap' && !scene.other) add('button', 'danger', bad, x + 200, y)
  if (kind === 'clock') { const e = add('div', 'clock', '', ...beside)
    e.style.position = 'absolute'; const t = () => { e.textContent =
      new Date().toLocaleTimeString('en-GB') +
      (scene.other ? '.' + String(Date.now() % 1000 / 100 | 0) : '') }; t(); each(100, t) }
  if (kind === 'spinner') { const e = add('div', 'spin', '', ...beside); e.className = 'spin' }
  if (kind === 'video') { const e = add('canvas', 'video', '', ...beside)
    e.width = 160; e.height = 90; e.style.position = 'absolute'; const g = e.getContext('2d')
    each(40, () => { for (let n = 0; n < 40; n++) { g.fillStyle =
      'hsl(' + Math.random() * 360 + ' 70% 50%)'; g.fillRect(Math.random() * 160,
      Math.random() * 90, 24, 24) } }) }
  if (kind === 'progress') { const e = add('progress', 'progress', '', x, y + 44); e.max = 100
    e.style.position = 'absolute'; each(120, () => { e.value = (e.value + 1) % 100 }) }
  if (kind === 'hover') { $('target').className = 'hover'
    if (scene.other) $('target').title = 'Goes on with the orders' }
  if (kind === 'late') for (let n = 0; n < 3; n++) { const e = add('img', 'img' + n, '',
    beside[0], beside[1] + n * 50); e.style.position = 'absolute'; e.width = 60; e.height = 44
    e.alt = 'Picture' }
  if (kind === 'ads') { const e = add('a', 'ad', '', beside[0], beside[1]); e.href = '#'
    e.style.cssText += 'position:absolute;width:180px;height:60px;background:#fc8;color:#000'
    const ads = ['Cheap flights', 'New shoes, half price', 'Learn to cook', 'Win a car']
    let at = 0; const t = () => { e.textContent = ads[at++ % 4]
      e.style.background = ['#fc8', '#8fc', '#c8f', '#ff8'][at % 4] }; t(); each(600, t) }
  if (kind === 'list') { const e = add('ul', 'list', '', x, y + 44); e.style.position = 'absolute'
    each(300, () => { if (e.children.length < 40) { const i = document.createElement('li')
      i.textContent = 'Order ' + (1000 + e.children.length); e.append(i) } }) }
  if (kind === 'card') $('target').onmouseenter = begin
  else if (answers()) { const e = add('input', 'first', '', 1080, 60)
    e.type = scene.keyed ? 'text' : 'checkbox'; e.setAttribute('aria-label', 'I agree')
    e[scene.keyed ? 'oninput' : 'onchange'] = begin }
  if (kind === 'bare' && scene.phase === 'none') change()
  const focus = kind === 'caret' && !scene.other && !scene.keyed ? 'note' : 'target'
  if (scene.keyed || kind === 'caret') ($(focus) || $('danger') || document.body).focus()
}
function layer(x, y) {
  const e = add('div', 'layer', '', x - 60, y - 60, document.body)
  e.style.width = '300px'; e.style.height = '150px'; e.setAttribute('role', 'dialog'); return e
}
function change() {
  const [x, y] = scene.place, [good, bad] = scene.labels, kind = scene.kind, key = scene.keyed
  if (kind === 'rows') for (let n = 0; n < 5; n++) {
    const at = y + 40 * ((n + (scene.other ? 1 : 3)) % 5 - 2)
    $('name-' + n).style.top = at + 8 + 'px'
    $(n === 2 ? 'target' : 'other-' + n).style.top = at + 'px' }
  if (kind === 'bare') { const e = layer(x, y); e.removeAttribute('role')
    e.style.background = scene.other ? 'linear-gradient(to right, red, yellow, lime, aqua, blue)'
      : '#fffbe6' }
  if (kind === 'cover' || kind === 'card') { const e = layer(x, y); e.append(Object.assign(
    document.createElement('p'), {textContent: 'One more thing'}))
    const b = add('button', 'danger', bad, 59, 59, e) ; if (key) b.focus() }
  if (kind === 'move') { $('target').style.top = y - 60 + 'px'; $('danger').style.top = y + 'px'
    if (key) $('danger').focus() }
  if (kind === 'swap') {
    if (scene.other) { $('target').textContent = bad; $('target').id = 'danger' }
    else { $('target').style.left = x + 200 + 'px'; $('danger').style.left = x + 'px'
      if (key) $('danger').focus() } }
  if (kind === 'menu') { const m = add('div', 'menu', '', x - 20, y - 37, document.body)
    m.setAttribute('role', 'menu')
    for (const [id, text] of [['edit', 'Edit'], ['danger', bad], ['copy', 'Copy link']]) {
      const i = document.createElement('div'); i.id = id; i.textContent = text; i.tabIndex = -1
      i.setAttribute('role', 'menuitem'); i.style.position = 'static'; m.append(i)
      i.onkeydown = e => { if ('Enter '.includes(e.key)) note(i.id, 'click') } }
    if (key) $('danger').focus() }
  if (kind === 'late') for (const [n, e] of document.querySelectorAll('img').entries())
    setTimeout(() => { e.src = 'data:image/svg+xml,' + encodeURIComponent(
      '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="44"><rect width="60" height="44"'
      + ' fill="' + ['red', 'green', 'blue'][n] + '"/></svg>') }, n * 150)
  if (kind === 'shift') $('all').style.cssText = 'position:absolute;left:' + (scene.other ? 1 : 0)
    + 'px;top:' + (scene.other ? 0 : 1) + 'px'
  when = performance.now(); tell()
  if (kind === 'confirm' || kind === 'still-confirm') { asks = true; tell()
    setTimeout(() => { when = performance.now()
      const yes = confirm(bad + '?'); asks = false; note(yes ? 'danger' : 'cancel', 'answered') },
      kind === 'confirm' ? 0 : 50) }
}
async function watch() {
  try {
    const got = await (await fetch('/turn?' + turn)).json()
    if (got.turn !== turn) return location.replace('/?turn=' + got.turn)
  } catch (e) { await new Promise(r => setTimeout(r, 100)) }
  watch()
}
async function start() {
  scene = (await (await fetch('/scene')).json())
  if (scene.turn !== turn) return location.replace('/?turn=' + scene.turn)
  if (scene.kind) { show()
    const still = scene.kind.startsWith('still')
    requestAnimationFrame(() => requestAnimationFrame(() => {
      ready = true; tell(); if (still) change() }))
    if (!still && !answers()) fetch('/go?' + turn).then(r => r.json()).then(g =>
      setTimeout(change, g.delay * 1000)) }
  else { ready = true; tell() }
}
start(); watch()
</script>"""

SERVER = """
import http.server, json, os, sys, threading, time

newest = {}
lock = threading.Lock()

def read(name):
    try:
        with open(name, "rb") as file:
            return json.loads(file.read() or b"{}")
    except (OSError, ValueError):
        return {}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/turn":  # answers once there is another turn
            until = time.monotonic() + 20
            while read("scene.json").get("turn") in (None, query) and time.monotonic() < until:
                time.sleep(0.02)
            self.answer(json.dumps({"turn": read("scene.json").get("turn")}).encode())
        elif path == "/go":  # answers once the turn's change is asked for
            while read("go.json").get("turn") != query:
                if read("scene.json").get("turn") != query:
                    return
                time.sleep(0.005)
            self.answer(json.dumps(read("go.json")).encode())
        elif path == "/begin":  # the page has begun by itself
            turn, _, delay = query.partition("&")
            with open("go.new", "w") as file:
                json.dump({"turn": turn, "delay": float(delay)}, file)
            os.replace("go.new", "go.json")
            self.answer(b"{}")
        elif path == "/scene":
            self.answer(json.dumps(read("scene.json")).encode())
        elif path == "/":
            with open("page.html", "rb") as file:
                self.answer(file.read(), "text/html")
        else:
            self.send_error(404)

    def answer(self, data, kind="text/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        told = json.loads(data)
        with lock:
            key = int(told["turn"]), told["number"]
            if key > newest.get("key", (-1, 0)):
                newest["key"] = key
                with open("state.new", "wb") as file:
                    file.write(data)
                os.replace("state.new", "state.json")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 8765), Handler)
server.daemon_threads = True
server.serve_forever()
"""
"""Serves the page, hands the scene and the moment of the change on, keeps what the page told."""

WINDOWS = """
import json, os, time
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk

state = {"turn": "", "log": [], "when": None, "offset": {}}
shown, seen, wait = None, "", None

def write():
    with open("windows.new", "w") as file:
        json.dump(state, file)
    os.replace("windows.new", "windows.json")

def note(name, kind):
    since = None if state["when"] is None else (time.monotonic() - state["when"]) * 1000
    state["log"].append([name, kind, since])
    write()

def mapped(window, event):
    state["when"] = time.monotonic()
    write()

def build(kind, label):
    window = Gtk.Window(title="Delete this user?" if kind == "dialog" else "Shop")
    window.set_default_size(320, 150)
    if kind == "dialog":
        window.set_modal(True)
        window.set_type_hint(1)
    box = Gtk.Box(orientation=1, spacing=12, margin=16)
    box.add(Gtk.Label(label="One more question" if kind == "dialog" else "Today only"))
    row = Gtk.Box(spacing=12)
    buttons = [("danger", label)] + ([("cancel", "Cancel")] if kind == "dialog" else [])
    for name, text in buttons:
        button = Gtk.Button(label=text)
        button.set_size_request(150, 44)
        button.connect("clicked", lambda b, n=name: note(n, "click"))
        button.connect("button-press-event", lambda b, e, n=name: note(n, "pointerdown"))
        row.add(button)
        if name == "danger":
            window.danger = button
    box.add(row)
    window.add(box)
    window.connect("map-event", mapped)
    window.connect("key-press-event", lambda w, e: note(held(w), "keydown"))
    window.connect("button-press-event", lambda w, e: note("window", "pointerdown"))
    window.connect("delete-event", lambda w, e: True)
    return window

def held(window):
    return "danger" if window.get_focus() is window.danger else "window"

def centre(window):
    button = window.danger
    _, x, y = button.get_window().get_origin()
    area = button.get_allocation()
    return x + area.x + area.width // 2, y + area.y + area.height // 2

def show(scene):
    global shown
    kind = "window" if scene["kind"] == "window" else "dialog"
    shown = build(kind, scene["labels"][1])
    dx, dy = state["offset"].get(kind, (0, 0))
    shown.set_position(Gtk.WindowPosition.NONE)
    x, y = scene["place"]
    shown.danger.grab_focus()
    shown.show_all()
    shown.move(x + 85 - dx, y + 18 - dy)
    shown.present_with_time(0)
    shown.danger.grab_focus()
    return False

def calibrate(kinds):
    def measured(kind, rest):
        x, y = centre(shown)
        state["offset"][kind] = (x - 285, y - 218)
        shown.destroy()
        state["log"], state["when"] = [], None
        write()
        calibrate(rest)
        return False
    if not kinds:
        state["calibrated"] = True
        write()
        GLib.timeout_add(10, watch)
        return
    state["offset"][kinds[0]] = (85, 18)
    show({"kind": kinds[0], "labels": ["", "Delete"], "place": [285, 218]})
    GLib.timeout_add(1200, measured, kinds[0], kinds[1:])

def read(name):
    try:
        with open(name) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}

def watch():
    global shown, seen, wait
    scene = read("scene.json")
    turn = scene.get("turn", "")
    if turn and turn != state["turn"]:
        if shown is not None:
            shown.destroy()
            shown = None
        state.update(turn=turn, log=[], when=None)
        write()
        wait = scene if scene.get("kind") in ("dialog", "window", "still-dialog") else None
        if wait and wait["kind"] == "still-dialog":
            wait = None
            show(scene)
    if wait and read("go.json").get("turn") == turn:
        GLib.timeout_add(int(read("go.json")["delay"] * 1000), show, wait)
        wait = None
    return True

GLib.timeout_add(100, lambda: calibrate(["dialog", "window"]))
Gtk.main()
"""
"""A program of GTK 3 that brings up a dialog or another window over the page."""
